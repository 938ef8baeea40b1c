//! The drivers, behind what the contract asks of every one of them.

use lockshift::lock::{Acquired, Extended, Hold, Locker, Owner, Released, Standing};
use lockshift::wire::{Fault, Pending, Procedure, Reading, Reply, Transcript};
use redis::{Connection, Value};

use crate::server::Server;

/// A connection and the loop that runs a protocol over it.
pub(super) trait Driver {
    const NAME: &'static str;

    fn connect(server: &Server) -> Self;
    fn acquire(&mut self, lock: &dyn Locker, owner: &Owner) -> Result<Acquired, String>;
    fn release(&mut self, lock: &dyn Locker, hold: &Hold) -> Result<Released, String>;
    fn extend(&mut self, lock: &dyn Locker, hold: &Hold) -> Result<Extended, String>;
    fn standing(&mut self, lock: &dyn Locker, hold: &Hold) -> Result<Standing, String>;
}

/// The loop in its barest form.
pub(super) struct ByHand(Connection);

impl ByHand {
    fn run<P: Procedure>(&mut self, procedure: P) -> Result<P::Outcome, String> {
        let mut transcript = Transcript::new();
        loop {
            match procedure.turn(transcript.rewind()) {
                Ok(outcome) => return Ok(outcome),
                Err(Pending::Fault(fault)) => return Err(said(&fault)),
                Err(Pending::Clock) => transcript.record_clock(clock()),
                Err(Pending::Send(command)) => {
                    let mut cmd = redis::Cmd::new();
                    for word in command.words() {
                        cmd.arg(word.as_slice());
                    }
                    transcript.record_reply(match cmd.query::<Value>(&mut self.0) {
                        Ok(value) => reply(value),
                        Err(error) => Reply::Error(format!(
                            "{} {}",
                            error.code().unwrap_or_default(),
                            error.detail().unwrap_or_default()
                        )),
                    });
                }
            }
        }
    }
}

fn said(fault: &Fault) -> String {
    fault.code().unwrap_or("unexpected reply").to_owned()
}

fn clock() -> Reading {
    Reading {
        wall: lockshift::wire::UnixTime::from_nanos(0),
        mono: lockshift::wire::MonoTime::since_origin(std::time::Duration::ZERO),
    }
}

fn reply(value: Value) -> Reply {
    match value {
        Value::Nil => Reply::Nil,
        Value::Int(number) => Reply::Int(number),
        Value::Okay => Reply::ok(),
        Value::SimpleString(text) => Reply::Status(text),
        Value::BulkString(bytes) => Reply::Bulk(bytes),
        Value::Array(items) => Reply::Array(items.into_iter().map(reply).collect()),
        other => Reply::Error(format!("{other:?}")),
    }
}

impl Driver for ByHand {
    const NAME: &'static str = "by hand";

    fn connect(server: &Server) -> Self {
        Self(server.connect())
    }

    fn acquire(&mut self, lock: &dyn Locker, owner: &Owner) -> Result<Acquired, String> {
        self.run(|redis: &mut Transcript| lock.acquire(owner, redis))
    }

    fn release(&mut self, lock: &dyn Locker, hold: &Hold) -> Result<Released, String> {
        self.run(|redis: &mut Transcript| lock.release(hold, redis))
    }

    fn extend(&mut self, lock: &dyn Locker, hold: &Hold) -> Result<Extended, String> {
        self.run(|redis: &mut Transcript| lock.extend(hold, redis))
    }

    fn standing(&mut self, lock: &dyn Locker, hold: &Hold) -> Result<Standing, String> {
        self.run(|redis: &mut Transcript| lock.standing(hold, redis))
    }
}
