//! Whether a server fits what a fleet of locks wants: its version, commands, permissions, clock, memory, disk and replicas.
//!
//! [`examine`] is a procedure that only reads: INFO, TIME, COMMAND INFO, ACL WHOAMI and ACL DRYRUN. Its findings are values;
//! what they say and what to change is text of [`report`](crate::report).

mod facts;
mod finding;

use std::collections::BTreeSet;

use crate::inspect::{Hazard, ServerHazard};
use crate::permissions::Permissions;
use crate::protocols::Choice;
use crate::wire::{Command, Reply, Transcript, Turn};

pub use facts::ServerFacts;
pub use finding::{DoctorFinding, Subject, Weight};

/// What was found of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkup {
    /// What it says of itself.
    pub facts: ServerFacts,
    /// What does not fit, or could not be examined.
    pub findings: Vec<DoctorFinding>,
}

impl Checkup {
    /// Whether nothing was found that should be changed.
    pub fn fits(&self) -> bool {
        self.findings.iter().all(|finding| finding.weight() != Weight::Harmful)
    }

    /// What was found under this subject.
    pub fn of(&self, subject: Subject) -> impl Iterator<Item = &DoctorFinding> {
        self.findings.iter().filter(move |finding| finding.subject() == subject)
    }
}

/// Examines a server for this fleet, whose keys have this pattern of Redis. `in_cluster`: the client takes it for a node of a
/// cluster.
///
/// # Errors
/// [`Pending`](crate::wire::Pending): a reply is still to come, or Redis refused INFO.
pub fn examine(fleet: &[Choice], pattern: &str, in_cluster: bool, redis: &mut Transcript) -> Turn<Checkup> {
    let info = match redis.send(Command::new("INFO"))? {
        Reply::Bulk(info) => String::from_utf8_lossy(&info).into_owned(),
        other => return Transcript::fault(Command::new("INFO"), other),
    };
    let facts = ServerFacts::of(&info);
    let mut findings = facts.findings(in_cluster);
    let votes = fleet.iter().any(Choice::spans_servers);
    findings.extend(ServerHazard::all(&info, votes).into_iter().map(DoctorFinding::Server));
    findings.extend(clocks(redis)?);
    let needed = fleet.iter().map(|choice| Permissions::of(choice, pattern));
    let needed = needed.reduce(Permissions::and).unwrap_or_default();
    findings.extend(old_for_scripts(&facts, fleet));
    let known = known_commands(&needed.commands, redis)?;
    match &known {
        Some(known) => {
            let missing: Vec<_> = needed.commands.difference(known).cloned().collect();
            findings.extend((!missing.is_empty()).then_some(DoctorFinding::Unknown { commands: missing }));
        }
        None if needed.commands.is_empty() => {}
        None => findings.push(DoctorFinding::CommandsNotExamined),
    }
    findings.extend(permissions(&needed, known.as_ref(), redis)?);
    Ok(Checkup { facts, findings })
}

/// How far the clocks are apart; the server's is read between two readings of this machine's.
fn clocks(redis: &mut Transcript) -> Turn<Option<DoctorFinding>> {
    let before = redis.now()?;
    let server_at = match redis.send(Command::new("TIME"))? {
        Reply::Array(words) => facts::moment(&words),
        _ => None,
    };
    let after = redis.now()?;
    let Some(server_at) = server_at else { return Ok(Some(DoctorFinding::ClockNotExamined)) };
    // Between the two readings any difference may be the way to the server and back.
    let nearest = if server_at < before { before } else { after.min(server_at) };
    Ok(Hazard::of_clocks(nearest, server_at).map(DoctorFinding::Clocks))
}

/// The protocols whose scripts write after they have read the time, on a server that has no way to do that.
fn old_for_scripts(facts: &ServerFacts, fleet: &[Choice]) -> Option<DoctorFinding> {
    let is_old = facts.is_before(3, 2);
    let too_new = |choice: &&Choice| Permissions::of(choice, "*").commands.contains("time");
    let protocols: Vec<_> = fleet.iter().filter(too_new).map(ToString::to_string).collect();
    (is_old && !protocols.is_empty()).then_some(DoctorFinding::NeedsRedis32 { protocols })
}

/// Those of these commands that the server knows; `None` where it does not say. Of `pubsub|numsub` it is asked for `pubsub`: before
/// Redis 7 no server describes what follows the bar.
fn known_commands(commands: &BTreeSet<String>, redis: &mut Transcript) -> Turn<Option<BTreeSet<String>>> {
    if commands.is_empty() {
        return Ok(None);
    }
    let names = commands.iter().map(|name| name.split('|').next().unwrap_or(name));
    let question = names.fold(Command::new("COMMAND").arg("INFO"), |question, name| question.arg(name));
    let Reply::Array(described) = redis.send(question)? else { return Ok(None) };
    let known = commands.iter().zip(described).filter(|(_, reply)| matches!(reply, Reply::Array(_)));
    Ok(Some(known.map(|(name, _)| name.clone()).collect()))
}

/// Which of the commands this user may not run on these keys.
fn permissions(
    needed: &Permissions,
    known: Option<&BTreeSet<String>>,
    redis: &mut Transcript,
) -> Turn<Option<DoctorFinding>> {
    let Reply::Bulk(user) = redis.send(Command::new("ACL").arg("WHOAMI"))? else {
        return Ok(Some(DoctorFinding::PermissionsNotExamined));
    };
    let mut refused = Vec::new();
    // A key that the pattern covers, and a channel.
    let [key, channel] = [&needed.keys, &needed.channels]
        .map(|patterns| patterns.iter().next().map(|pattern| pattern.replace('*', "x")).unwrap_or_default());
    for name in needed.commands.iter().filter(|name| known.is_none_or(|known| known.contains(*name))) {
        let dry = |words: &[&str]| {
            let start = Command::new("ACL").arg("DRYRUN").arg(&user);
            name.split('|').chain(words.iter().copied()).fold(start, |command, word| command.arg(word))
        };
        // The number of words is judged first: one more until it is right.
        let mut words = if name.starts_with("eval") { vec!["x", "0"] } else { vec![] };
        let reply = loop {
            let reply = redis.send(dry(&words))?;
            let is_short = matches!(&reply, Reply::Error(text) if text.contains("wrong number of arguments"));
            if !is_short || words.len() > 5 {
                break reply;
            }
            let named = if name.ends_with("publish") || name.ends_with("subscribe") { &channel } else { &key };
            words.push(if words.is_empty() { named } else { "1" });
        };
        match reply {
            Reply::Status(_) => {}
            Reply::Bulk(_) => refused.push(name.clone()),
            _ => return Ok(Some(DoctorFinding::PermissionsNotExamined)),
        }
    }
    let user = String::from_utf8_lossy(&user).into_owned();
    Ok((!refused.is_empty()).then(|| DoctorFinding::NotAllowed { user, commands: refused, rule: needed.rule() }))
}
