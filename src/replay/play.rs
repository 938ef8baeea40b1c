//! The replay itself.

use redis::{ConnectionLike, RedisResult};

use super::divergence::Divergence;
use super::mirror::{Mirror, SETUP};
use super::wires::Wires;
use crate::explore::Trace;
use crate::wire::{Command, Key, Node, Reply, Ttl};

/// Real time passes too: every time to live is this much longer than it should be, which is less than TTL's rounding
/// notices.
const SLACK_MS: i64 = 400;
/// How far a time to live may be off, right after it was given.
const DELAY_MS: i64 = 900;

/// Sends the commands of a trace to a real Redis, in its order, and demands the same replies: or to several, where it
/// speaks to several and there are so many. The keys that it makes must not be there before, and are deleted afterwards.
///
/// # Errors
/// [`Divergence`]: a server did something else, cannot be used, or is not asked because the schedule needs a fault of its
/// own, or more servers than there are.
pub fn replay<C: ConnectionLike>(
    trace: &Trace,
    servers: u8,
    connect: &mut dyn FnMut(Node) -> RedisResult<C>,
) -> Result<(), Divergence> {
    if let Some(step) = trace.steps.iter().position(|step| step.action.is_server_fault()) {
        return Err(Divergence::ServerFault { step });
    }
    let needed = 1 + trace.commands().map(|command| command.node().0).max().unwrap_or(0);
    if needed > servers {
        return Err(Divergence::SeveralServers { needed, servers });
    }
    let keys = Mirror::keys_of(trace);
    let mut wires = Wires::new(connect);
    for (node, key) in &keys {
        if wires.ask(&Command::new("EXISTS").arg(key).on(*node))? != Reply::Int(0) {
            return Err(Divergence::KeyInUse(key.clone()));
        }
    }
    let mut play = ReplayRun { mirror: Mirror::new(trace), wires, keys };
    let played = play.all(trace);
    let cleaned = play.clean_up();
    played.and(cleaned)
}

/// A replay under way.
struct ReplayRun<'a, C> {
    mirror: Mirror,
    wires: Wires<'a, C>,
    keys: Vec<(Node, Key)>,
}

impl<C: ConnectionLike> ReplayRun<'_, C> {
    fn all(&mut self, trace: &Trace) -> Result<(), Divergence> {
        for prior in &trace.prelude {
            self.pass_time(-signed(prior.ms_before))?;
            self.exchange(SETUP, &prior.command, &prior.reply)?;
        }
        for step in &trace.steps {
            self.pass_time(signed(step.at_ms))?;
            let Some(actor) = step.actor else { continue };
            if let Some(exchange) = &step.exchange {
                self.exchange(actor, &exchange.command, &exchange.reply)?;
            }
            if step.action.disconnects() {
                self.wires.cut(actor);
                self.mirror.forget(actor);
            }
        }
        self.compare_contents()
    }

    /// Sends a command, and compares the reply and the times to live after it.
    fn exchange(&mut self, place: usize, command: &Command, expected: &Reply) -> Result<(), Divergence> {
        let actual = self.wires.send(place, command)?;
        if actual != *expected {
            return Err(Divergence::Reply { command: command.clone(), expected: expected.clone(), actual });
        }
        self.mirror.call_as(place, command);
        for (node, key) in self.keys.clone() {
            let (expected, actual) = (self.mirror.pttl(node, &key), self.wires.pttl(node, &key)?);
            if !agree(expected, actual) {
                return Err(Divergence::TimeToLive { command: command.clone(), key, expected, actual });
            }
        }
        self.move_deadlines()
    }

    /// It is now so many milliseconds after the start.
    fn pass_time(&mut self, now_ms: i64) -> Result<(), Divergence> {
        self.mirror.set_clock(now_ms);
        self.move_deadlines()
    }

    /// Moves the times to live to what they should be.
    fn move_deadlines(&mut self) -> Result<(), Divergence> {
        for (node, key) in &self.keys {
            match self.mirror.pttl(*node, key) {
                Ttl::NO_EXPIRY => {}
                Ttl::NO_KEY => {
                    self.wires.ask(&Command::new("DEL").arg(key).on(*node))?;
                }
                Ttl(left_ms) => {
                    let left_ms = left_ms.saturating_add(SLACK_MS);
                    self.wires.ask(&Command::new("PEXPIRE").arg(key).arg_int(left_ms).on(*node))?;
                }
            }
        }
        Ok(())
    }

    /// Compares what is in the keys now.
    fn compare_contents(&mut self) -> Result<(), Divergence> {
        for (node, key) in self.keys.clone() {
            let question = |name| Command::new(name).arg(&key).on(node);
            let mut questions = vec![question("TYPE")];
            match self.mirror.ask(&questions[0]) {
                Reply::Status(kind) if kind == "string" => questions.push(question("GET")),
                Reply::Status(kind) if kind == "hash" => questions.push(question("HGETALL")),
                _ => {}
            }
            for command in questions {
                let (expected, actual) = (self.mirror.ask(&command), self.wires.ask(&command)?);
                if in_any_order(&expected) != in_any_order(&actual) {
                    return Err(Divergence::Contents { command, expected, actual });
                }
            }
        }
        Ok(())
    }

    fn clean_up(&mut self) -> Result<(), Divergence> {
        for (node, key) in &self.keys {
            self.wires.ask(&Command::new("DEL").arg(key).on(*node))?;
        }
        Ok(())
    }
}

/// Whether the two are the same, but for the real time that has passed.
fn agree(expected: Ttl, actual: Ttl) -> bool {
    if expected.0 < 0 || actual.0 < 0 {
        return expected == actual;
    }
    (expected.0 - DELAY_MS..=expected.0 + SLACK_MS).contains(&actual.0)
}

/// The pairs of a hash have no order.
fn in_any_order(reply: &Reply) -> Vec<String> {
    let Reply::Array(items) = reply else { return vec![reply.to_string()] };
    let mut pairs: Vec<String> =
        items.chunks(2).map(|pair| pair.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")).collect();
    pairs.sort();
    pairs
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
