//! Scripts: the shipped text in a real Lua 5.1, once per thread, outside the server so that the server stays a value.
//!
//! A script leaves nothing behind in the machine: globals and libraries are sealed, as in Redis, and there is neither a
//! clock nor chance in it: TIME is the simulated clock, and `math.random` is absent. So is what Redis has beside the
//! language and `redis` itself: `cjson`, `cmsgpack`, `struct`, `bit`, `load`, `setfenv`, RESP3.

mod api;
mod convert;
mod machine;
mod raised;

use machine::Machine;

use super::call::{Answer, Call};
use super::refusal::Refusal;
use crate::wire::CommandWord;

thread_local! {
    static MACHINE: Machine = Machine::new().expect("a Lua state needs nothing but a little memory");
}

/// Refuses a text that is no Lua.
pub(super) fn compile(sha1: &str, text: &[u8]) -> Result<(), Refusal> {
    MACHINE.with(|machine| machine.chunk(sha1, text).map(|_| ()))
}

/// Runs a script on the server, on behalf of the connection that called it.
pub(super) fn run(call: &mut Call<'_>, sha1: &str, text: &[u8], keys: &[CommandWord], args: &[CommandWord]) -> Answer {
    MACHINE.with(|machine| {
        let chunk = machine.chunk(sha1, text)?;
        machine.run(&chunk, sha1, keys, args, call)
    })
}
