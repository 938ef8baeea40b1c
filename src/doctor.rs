//! Whether a server fits what a fleet of locks wants: its version, commands, permissions, clock, memory, disk and replicas.
//!
//! [`examine`] is a procedure that only reads: INFO, TIME, COMMAND INFO, ACL WHOAMI and ACL DRYRUN; CLUSTER INFO on a node of a
//! cluster, and CONFIG GET where what INFO says leaves a question. Its findings are values; what they say and what to change is
//! text of [`report`](crate::report).

mod covered;
mod facts;
mod finding;
mod permitted;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::inspect::{Hazard, ServerHazard};
use crate::lock::Lease;
use crate::permissions::Permissions;
use crate::protocols::Choice;
use crate::wire::{Command, Key, Reply, Transcript, Turn};
use permitted::permissions;

pub use facts::{SaveFailure, ServerFacts};
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
    /// Whether the user may not run INFO, so that little could be examined.
    pub fn lacks_info(&self) -> bool {
        self.findings.iter().any(|finding| matches!(finding, DoctorFinding::InfoRefused { .. }))
    }

    /// Whether nothing was found that should be changed.
    pub fn fits(&self) -> bool {
        self.findings.iter().all(|finding| finding.weight() != Weight::Harmful)
    }

    /// What was found under this subject.
    pub fn of(&self, subject: Subject) -> impl Iterator<Item = &DoctorFinding> {
        self.findings.iter().filter(move |finding| finding.subject() == subject)
    }
}

/// How the clients of a fleet connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Connecting {
    /// They take the server for a node of a cluster.
    pub to_cluster: bool,
    /// Their address has a database: they send SELECT.
    pub to_database: bool,
}

/// Examines a server for this fleet, whose keys have this pattern of Redis and whose clients connect so.
///
/// # Errors
/// [`Pending`](crate::wire::Pending): a reply is still to come, or Redis refused INFO, and not because the user may not run it.
pub fn examine(fleet: &[Choice], pattern: &str, connecting: Connecting, redis: &mut Transcript) -> Turn<Checkup> {
    let info = match redis.send(Command::new("INFO"))? {
        Reply::Bulk(info) => Some(String::from_utf8_lossy(&info).into_owned()),
        Reply::Error(refusal) if refusal.starts_with("NOPERM") => None,
        other => return Transcript::fault(Command::new("INFO"), other),
    };
    let mut facts = info.as_deref().map_or_else(ServerFacts::unknown, ServerFacts::of);
    if facts.is_sentinel() {
        return Ok(Checkup { facts, findings: vec![DoctorFinding::IsSentinel] });
    }
    let of_memory = if info.is_some() { memory(&mut facts, redis)? } else { None };
    let mut findings = facts.findings(connecting.to_cluster);
    findings.extend(of_memory);
    if info.is_none() {
        findings.extend(OF_INFO.map(|subject| DoctorFinding::InfoRefused { subject }));
    }
    findings.extend(cluster(&facts, redis)?);
    findings.extend(connecting.to_cluster.then(|| unsuited_to_cluster(fleet)).flatten());
    findings.extend(saving(&facts, redis)?);
    findings.extend(replicas(&facts, redis)?);
    let votes = fleet.iter().any(Choice::spans_servers);
    findings.extend(ServerHazard::all(info.as_deref().unwrap_or(""), votes).into_iter().map(DoctorFinding::Server));
    findings.extend(clocks(redis)?);
    let needed = fleet.iter().map(|choice| Permissions::of(choice, pattern));
    let mut needed = needed.reduce(Permissions::and).unwrap_or_default();
    needed.commands.extend(connecting.to_database.then(|| "select".to_owned()));
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

/// What INFO says most of.
const OF_INFO: [Subject; 5] =
    [Subject::Role, Subject::Version, Subject::Memory, Subject::Persistence, Subject::Replicas];

/// Whether the cluster of this node serves.
fn cluster(facts: &ServerFacts, redis: &mut Transcript) -> Turn<Option<DoctorFinding>> {
    if facts.mode != "cluster" {
        return Ok(None);
    }
    Ok(match redis.send(Command::new("CLUSTER").arg("INFO"))? {
        Reply::Bulk(info) => {
            let is_up = String::from_utf8_lossy(&info).lines().any(|line| line.trim() == "cluster_state:ok");
            (!is_up).then_some(DoctorFinding::ClusterIsDown)
        }
        _ => Some(DoctorFinding::ClusterNotExamined),
    })
}

/// Whether it could not write to its disk the last time, and what it makes of that: INFO does not say.
fn saving(facts: &ServerFacts, redis: &mut Transcript) -> Turn<Option<DoctorFinding>> {
    let refuses_writes = match facts.failure() {
        None => return Ok(None),
        Some(SaveFailure::Appending) => Some(true),
        Some(SaveFailure::Snapshot) => match setting("stop-writes-on-bgsave-error", redis)?.as_deref() {
            // It refuses nothing where it is to save no snapshots by itself.
            Some("yes") => setting("save", redis)?.map(|moments| !moments.is_empty()),
            Some(_) => Some(false),
            None => None,
        },
    };
    Ok(Some(DoctorFinding::CannotSave { refuses_writes }))
}

/// What it does when its memory is full, where INFO does not say all of that: not every version has the limit there.
fn memory(facts: &mut ServerFacts, redis: &mut Transcript) -> Turn<Option<DoctorFinding>> {
    if facts.max_memory.is_some() && facts.policy.is_some() {
        return Ok(None);
    }
    if facts.max_memory.is_none() {
        facts.max_memory = setting("maxmemory", redis)?.and_then(|limit| limit.parse().ok());
    }
    if facts.max_memory != Some(0) && facts.policy.is_none() {
        facts.policy = setting("maxmemory-policy", redis)?;
    }
    Ok(match (facts.max_memory, &facts.policy) {
        (Some(0), _) => None,
        (Some(limit), Some(policy)) => ServerHazard::of_memory(limit, policy).map(DoctorFinding::Server),
        (None, _) | (_, None) => Some(DoctorFinding::MemoryNotExamined),
    })
}

/// Whether a master has fewer replicas than it wants to write at all.
fn replicas(facts: &ServerFacts, redis: &mut Transcript) -> Turn<Option<DoctorFinding>> {
    let Some(in_time) = facts.replicas_in_time.filter(|_| facts.role == "master") else { return Ok(None) };
    let wanted = setting("min-replicas-to-write", redis)?.and_then(|wanted| wanted.parse().ok());
    // It counts them only where it wants one at least.
    let are_too_few = in_time < wanted.unwrap_or(1);
    Ok(are_too_few.then_some(DoctorFinding::TooFewReplicas { in_time, wanted }))
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

/// The protocols that drivers do not run on a cluster: they keep to one connection, or want several servers.
fn unsuited_to_cluster(fleet: &[Choice]) -> Option<DoctorFinding> {
    let lease = Lease::new(Duration::from_secs(30)).expect("half a minute is a lease");
    let keeps_connection = |choice: &Choice| choice.locker(Key::from("k"), lease).needs_own_connection();
    let needs_servers = |choice: &&Choice| choice.spans_servers() || keeps_connection(choice);
    let protocols: Vec<_> = fleet.iter().filter(needs_servers).map(ToString::to_string).collect();
    (!protocols.is_empty()).then_some(DoctorFinding::UnsuitedToCluster { protocols })
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

/// The value of a setting; `None` where this user may not ask, or the server does not know it.
fn setting(name: &str, redis: &mut Transcript) -> Turn<Option<String>> {
    Ok(match redis.send(Command::new("CONFIG").arg("GET").arg(name))? {
        Reply::Array(words) => match words.as_slice() {
            [Reply::Bulk(_), Reply::Bulk(value)] => Some(String::from_utf8_lossy(value).into_owned()),
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Pending;

    /// What is found of the memory of a server with this INFO, which replies so to CONFIG GET.
    fn of_memory(info: &str, replies: &[Reply]) -> Vec<DoctorFinding> {
        let (mut redis, mut replies) = (Transcript::new(), replies.iter());
        loop {
            let mut facts = ServerFacts::of(info);
            match memory(&mut facts, redis.rewind()) {
                Err(Pending::Send(command)) => {
                    redis.record_reply(replies.next().unwrap_or_else(|| panic!("{command:?} is too much")).clone());
                }
                Ok(finding) => {
                    assert_eq!(replies.next(), None, "not all was asked");
                    let of_facts = facts.findings(false);
                    return finding
                        .into_iter()
                        .chain(of_facts.into_iter().filter(|it| it.subject() == Subject::Memory))
                        .collect();
                }
                Err(pending) => panic!("{pending:?}"),
            }
        }
    }

    #[test]
    fn what_info_does_not_say_of_memory_is_asked_or_named() {
        let says = |name: &str, value: &str| Reply::Array(vec![Reply::bulk(name), Reply::bulk(value)]);
        let (limit, policy) = (says("maxmemory", "1000"), says("maxmemory-policy", "volatile-lru"));
        let refused = || Reply::Error("NOPERM this user has no permissions to run the 'config|get' command".to_owned());
        let evicts = || DoctorFinding::Server(ServerHazard::Evicts { policy: "volatile-lru".to_owned() });
        let unlimited = says("maxmemory", "0");
        assert_eq!(of_memory("maxmemory:0\r\nmaxmemory_policy:noeviction\r\n", &[]), []);
        assert_eq!(of_memory("", &[limit.clone(), policy.clone()]), [evicts()]);
        assert_eq!(of_memory("maxmemory_policy:volatile-lru\r\n", std::slice::from_ref(&limit)), [evicts()]);
        assert_eq!(of_memory("maxmemory:1000\r\n", std::slice::from_ref(&policy)), [evicts()]);
        assert_eq!(of_memory("maxmemory_policy:volatile-lru\r\n", std::slice::from_ref(&unlimited)), []);
        assert_eq!(of_memory("", &[unlimited]), []);
        let full = DoctorFinding::NearlyFull { used: 950, limit: 1000 };
        assert_eq!(
            of_memory("used_memory:950\r\nmaxmemory_policy:noeviction\r\n", std::slice::from_ref(&limit)),
            [full]
        );
        assert_eq!(of_memory("", &[refused(), refused()]), [DoctorFinding::MemoryNotExamined]);
        assert_eq!(of_memory("maxmemory:1000\r\n", &[refused()]), [DoctorFinding::MemoryNotExamined]);
    }
}
