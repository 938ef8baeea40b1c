//! How an old client reacts to a stamp: its protocol, run alone against a simulated server with one key.

use crate::legacy::Lock;
use crate::lock::{Acquired, Locker, Owner, Token};
use crate::rehearsal::Rehearsal;
use crate::sim::{Flavour, Server, Session, Value};
use crate::wire::Command;

use super::fleet::Clocks;

/// Whether this old client leaves `value` in the key and does not acquire. A changed TTL still counts as respecting it.
pub(super) fn respects(member: &Lock, value: &[u8], clocks: &Clocks) -> bool {
    const SETUP: Session = Session(1);
    const CLIENT: Session = Session(2);
    let stranger = Owner::new(Token::new([0xee; 16]), 2, 2);
    let clocks = clocks.of(member.dialect());
    let mut server = Server::new(Flavour::Redis70);
    server.call(SETUP, &Command::new("SET").arg(member.key()).arg(value), clocks.wall);
    let mut rehearsal = Rehearsal::on(vec![server], clocks.wall);
    let acquired = rehearsal.run_reading(clocks, CLIENT, |redis| member.acquire(&stranger, redis));
    let after = rehearsal.server().peek(member.key(), clocks.wall);
    !matches!(acquired, Some(Acquired::Won(_)))
        && after.is_some_and(|stored| stored.value == Value::Text(value.to_vec()))
}
