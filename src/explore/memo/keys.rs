//! Questions as keys of a few words.

use crate::explore::parts::{Input, Request};

/// A client's state and its input, in 96 bits.
pub(super) fn tell_key(who: usize, actor: u32, input: Input<u32>) -> (u64, u32) {
    let (tag, node, what) = match input {
        Input::Clock(tick) => (0, 0, tick.into()),
        Input::Reply(reply) => (1, 0, reply),
        Input::Proceed(tick) => (2, 0, tick.into()),
        Input::ReplyLost(tick) => (3, 0, tick.into()),
        Input::Written => (4, 0, 0),
        Input::RenewalEnded => (5, 0, 0),
        Input::Crash => (6, 0, 0),
        Input::ReplyOn(node, reply) => (7, node, reply),
        Input::SilenceOn(node) => (8, node, 0),
        Input::ClockSet(ticks) => (9, 0, u32::from(ticks.cast_unsigned())),
        Input::Restart => (10, 0, 0),
    };
    (pair(actor, what), u32::from(node) << 16 | small(who) << 4 | tag)
}

/// What was asked, in 96 bits.
pub(super) fn ask_key(node: u32, request: Request<u32>) -> (u64, u32) {
    let (tag, who, tick, what) = match request {
        Request::Command(who, command, tick) => (0, who, tick, command),
        Request::Disconnect(who) => (1, who, 0, 0),
        Request::Won(who) => (2, who, 0, 0),
        Request::Elapse(tick) => (3, 0, tick, 0),
        Request::Delay(who, command) => (5, who, 0, command),
        Request::RunLate(who, tick) => (6, who, tick, 0),
        Request::Restart { server, keeps_data } => (7, server.into(), 0, keeps_data.into()),
        Request::Remove(server, place, tick) => (8, server.into(), tick, place.into()),
        Request::SetClock(server, ticks, tick) => (9, server.into(), tick, u32::from(ticks.cast_unsigned())),
        Request::FailOver { server, writes_lost, is_last } => (4, server.into(), writes_lost.into(), is_last.into()),
    };
    (pair(node, what), at(tick, who) << 4 | tag)
}

pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

pub(super) fn at(tick: u16, who: usize) -> u32 {
    u32::from(tick) << 8 | small(who)
}

/// A client's place; an [`Action`](crate::explore::Action) has a byte for it.
pub(super) fn small(who: usize) -> u32 {
    who as u32
}
