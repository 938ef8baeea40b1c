//! The Lua machine of a thread: what it offers to scripts, and one run of a script.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, Variadic, VmState};

use super::super::call::{Answer, Call};
use super::super::refusal::Refusal;
use super::api;
use super::convert;
use super::raised::{self, Raised, SCRIPT};
use crate::wire::CommandWord;

/// After so many instructions a script is stopped.
const MOST_INSTRUCTIONS: u32 = 100_000_000;
const INSTRUCTIONS_BETWEEN_CHECKS: u32 = 100_000;
/// So much memory a script and what is kept from one run to the next may take.
const MOST_BYTES: usize = 64 << 20;
/// So many compiled scripts are kept before all are dropped.
const MOST_CHUNKS: usize = 1000;

/// The Lua machine of a thread.
pub(super) struct Machine {
    lua: Lua,
    /// The globals of every script, sealed.
    environment: Table,
    /// What the seal shows: here KEYS and ARGV are set.
    globals: Table,
    /// The table `redis`, unsealed: here `call` and `pcall` are set.
    redis: Table,
    xpcall: Function,
    on_error: Function,
    chunks: RefCell<HashMap<String, Function>>,
    instructions_left: Rc<Cell<u32>>,
}

impl Machine {
    pub(super) fn new() -> mlua::Result<Self> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let redis = api::table(&lua)?;
        let instructions_left = Rc::new(Cell::new(0));
        let sandbox = lua.load(include_str!("sandbox.lua")).set_name("=sandbox");
        let catch = lua.create_function(catch_unless_spent(Rc::clone(&instructions_left)))?;
        let (environment, globals) = sandbox.call((redis.clone(), catch))?;
        stop_when_spent(&lua, Rc::clone(&instructions_left))?;
        lua.set_memory_limit(MOST_BYTES)?;
        Ok(Self {
            environment,
            globals,
            redis,
            xpcall: lua.globals().get("xpcall")?,
            on_error: lua.create_function(raised::describe)?,
            chunks: RefCell::default(),
            instructions_left,
            lua,
        })
    }

    /// The script, compiled.
    pub(super) fn chunk(&self, sha1: &str, text: &[u8]) -> Result<Function, Refusal> {
        if let Some(chunk) = self.chunks.borrow().get(sha1) {
            return Ok(chunk.clone());
        }
        let chunk = self.lua.load(text).set_name(SCRIPT).set_mode(ChunkMode::Text);
        let chunk = chunk.set_environment(self.environment.clone()).into_function().map_err(|error| {
            let text = match &error {
                mlua::Error::SyntaxError { message, .. } => message.clone(),
                _ => error.to_string(),
            };
            Refusal::err(format_args!("Error compiling script (new function): {text}"))
        })?;
        let mut chunks = self.chunks.borrow_mut();
        if chunks.len() == MOST_CHUNKS {
            chunks.clear();
        }
        chunks.insert(sha1.to_owned(), chunk.clone());
        Ok(chunk)
    }

    /// One run of a script.
    pub(super) fn run(
        &self,
        chunk: &Function,
        sha1: &str,
        keys: &[CommandWord],
        args: &[CommandWord],
        call: &mut Call<'_>,
    ) -> Answer {
        self.instructions_left.set(MOST_INSTRUCTIONS);
        let ended = self
            .call(chunk, keys, args, call)
            .map_err(|error| Refusal::err(format_args!("Error running script {sha1}, {error}")))?;
        match ended {
            Ok(value) => Ok(convert::to_reply(value, call.state.flavour)),
            Err(raised) => Err(Refusal::Other(raised::error_text(&raised, sha1))),
        }
    }

    /// What the script returned, or the table that describes what it raised.
    fn call(
        &self,
        chunk: &Function,
        keys: &[CommandWord],
        args: &[CommandWord],
        call: &mut Call<'_>,
    ) -> mlua::Result<Result<Value, Table>> {
        self.globals.raw_set("KEYS", self.array(keys)?)?;
        self.globals.raw_set("ARGV", self.array(args)?)?;
        // A script that selects a database does so for itself only.
        let db = call.db;
        let call = RefCell::new(call);
        let send = |words: &[Value]| api::send(&mut call.borrow_mut(), words);
        let ended = self.lua.scope(|scope| {
            let raising = scope.create_function(|lua, words: Variadic<Value>| match send(&words) {
                Ok(reply) => convert::from_reply(lua, &reply),
                Err(text) => Err(Raised(text).into()),
            })?;
            let returning = scope.create_function(|lua, words: Variadic<Value>| match send(&words) {
                Ok(reply) => convert::from_reply(lua, &reply),
                Err(text) => raised::error_table(lua, &text).map(Value::Table),
            })?;
            self.redis.raw_set("call", raising)?;
            self.redis.raw_set("pcall", returning)?;
            let (succeeded, value): (bool, Value) = self.xpcall.call((chunk, &self.on_error))?;
            match value {
                Value::Table(raised) if !succeeded => Ok(Err(raised)),
                raised if !succeeded => Err(mlua::Error::runtime(raised.to_string()?)),
                value => Ok(Ok(value)),
            }
        });
        call.into_inner().db = db;
        ended
    }

    fn array(&self, words: &[CommandWord]) -> mlua::Result<Table> {
        let strings = words.iter().map(|word| self.lua.create_string(word)).collect::<mlua::Result<Vec<_>>>()?;
        self.lua.create_sequence_from(strings)
    }
}

/// Stops a script that runs for too long.
fn stop_when_spent(lua: &Lua, instructions_left: Rc<Cell<u32>>) -> mlua::Result<()> {
    let checks = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_BETWEEN_CHECKS);
    lua.set_global_hook(checks, move |_, _| {
        let left = instructions_left.get().saturating_sub(INSTRUCTIONS_BETWEEN_CHECKS);
        instructions_left.set(left);
        if left > 0 { Ok(VmState::Continue) } else { Err(spent()) }
    })
}

/// What a script may see of what it caught. It cannot catch that it was stopped: that is raised again.
fn catch_unless_spent(instructions_left: Rc<Cell<u32>>) -> impl Fn(&Lua, Value) -> mlua::Result<Value> {
    move |lua, raised| if instructions_left.get() > 0 { raised::plain(lua, raised) } else { Err(spent()) }
}

fn spent() -> mlua::Error {
    Raised("ERR the script does not come to an end and was stopped".to_owned()).into()
}
