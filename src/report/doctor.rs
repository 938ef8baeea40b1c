//! What a checkup of servers has found, and what to change.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::Report;
use crate::doctor::{Checkup, DoctorFinding, Subject, Weight};
use crate::inspect::ServerHazard;

/// The checkups of some servers: in JSON an array.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Doctor {
    servers: Vec<Examined>,
}

/// One server: the fields are those of its JSON.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Examined {
    server: String,
    /// This and the next three are empty if the user may not run INFO.
    software: &'static str,
    version: String,
    mode: String,
    role: String,
    /// Whether nothing was found that should be changed.
    fits: bool,
    findings: Vec<FindingRow>,
    #[serde(skip)]
    is_sentinel: bool,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FindingRow {
    subject: &'static str,
    weight: &'static str,
    says: String,
    change: Option<String>,
}

impl Doctor {
    /// These servers, by their addresses.
    pub fn of(checkups: impl IntoIterator<Item = (String, Checkup)>) -> Self {
        Self { servers: checkups.into_iter().map(|(server, checkup)| Examined::of(server, &checkup)).collect() }
    }
}

impl Examined {
    fn of(server: String, checkup: &Checkup) -> Self {
        let row = |finding: &DoctorFinding| FindingRow {
            subject: finding.subject().name(),
            weight: weight(finding.weight()),
            says: says(finding),
            change: change(finding),
        };
        let facts = &checkup.facts;
        let findings = Subject::ALL.into_iter().flat_map(|subject| checkup.of(subject)).map(row).collect();
        let (version, mode, role) = (facts.version.clone(), facts.mode.clone(), facts.role.clone());
        let is_sentinel = facts.is_sentinel();
        Self { server, software: facts.software, version, mode, role, fits: checkup.fits(), findings, is_sentinel }
    }
}

fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Harmful => "harmful",
        Weight::NotExamined => "not examined",
        Weight::Notable => "notable",
    }
}

/// One sentence without a full stop.
fn says(finding: &DoctorFinding) -> String {
    match finding {
        DoctorFinding::IsSentinel => "it is a Sentinel, which keeps no keys; nothing else was examined".to_owned(),
        DoctorFinding::IsReplica { master } => format!("it is a replica of {master} and refuses writes"),
        DoctorFinding::IsClusterNode => "it is a node of a cluster, and refuses the keys of other nodes".to_owned(),
        DoctorFinding::ClusterIsDown => "its cluster is down, and refuses keys".to_owned(),
        DoctorFinding::ClusterNotExamined => "this user may not run CLUSTER INFO".to_owned(),
        DoctorFinding::UnsuitedToCluster { protocols } => format!("{} cannot run on a cluster", protocols.join(", ")),
        DoctorFinding::IsLoading => "it is still loading its data".to_owned(),
        DoctorFinding::NeedsRedis32 { protocols } => format!("{} needs Redis 3.2 or later", protocols.join(", ")),
        DoctorFinding::Unknown { commands } => format!("it does not know {}", commands.join(", ")),
        DoctorFinding::InfoRefused { .. } => "this user may not run INFO".to_owned(),
        DoctorFinding::CommandsNotExamined => {
            "it does not describe its commands, or this user may not run COMMAND INFO".to_owned()
        }
        DoctorFinding::NotAllowed { user, commands, .. } => {
            format!("the user `{user}` may not run {} on every key and channel of the fleet", commands.join(", "))
        }
        DoctorFinding::UserOfOtherCommands { user, .. } => {
            format!("the user `{user}` may run no command of the fleet that takes a key, and seems to be another user")
        }
        DoctorFinding::PermissionsNotExamined => {
            "it is older than Redis 7.0, or this user may not run ACL WHOAMI and ACL DRYRUN".to_owned()
        }
        DoctorFinding::Clocks(hazard) => hazard.to_string(),
        DoctorFinding::ClockNotExamined => "this user may not run TIME".to_owned(),
        DoctorFinding::CannotSave { refuses_writes } => {
            let consequence = match refuses_writes {
                Some(true) => "it refuses writes",
                Some(false) => "it writes on, and a restart may free the last locks",
                None => "it may refuse writes, and this user may not ask by CONFIG GET",
            };
            format!("its last save to disk failed: {consequence}")
        }
        DoctorFinding::HasSavedNothing => {
            "it has no append-only file, and has saved no snapshot since its start: a restart may free every lock"
                .to_owned()
        }
        DoctorFinding::MemoryNotExamined => {
            "INFO does not say how much memory it may use or what it does then, and this user may not run CONFIG GET"
                .to_owned()
        }
        DoctorFinding::NearlyFull { used, limit } => {
            format!("{used} of {limit} bytes are used: when memory is full it refuses locks")
        }
        DoctorFinding::TooFewReplicas { in_time, wanted: Some(wanted) } => {
            format!("it refuses writes: replicas that confirm in time: {in_time}, min-replicas-to-write: {wanted}")
        }
        DoctorFinding::TooFewReplicas { .. } => {
            "it refuses writes: no replica confirms in time, and min-replicas-to-write wants some".to_owned()
        }
        DoctorFinding::Server(hazard) => hazard.to_string(),
    }
}

/// What to change, or run; `None` where that follows from what is found.
fn change(finding: &DoctorFinding) -> Option<String> {
    Some(match finding {
        DoctorFinding::IsSentinel => {
            "name the master of which it knows: redis+sentinel://HOST:PORT/NAME in place of redis://HOST:PORT"
                .to_owned()
        }
        DoctorFinding::IsReplica { master } => format!("connect to {master}"),
        DoctorFinding::IsClusterNode => "add ?cluster=true to the address".to_owned(),
        DoctorFinding::ClusterIsDown => {
            "start the masters that are missing, or assign their slots anew: redis-cli --cluster fix".to_owned()
        }
        DoctorFinding::UnsuitedToCluster { .. } => {
            "use servers that are no nodes of a cluster, or another protocol".to_owned()
        }
        DoctorFinding::NeedsRedis32 { .. } => "upgrade the server, or use another protocol".to_owned(),
        DoctorFinding::Unknown { .. } => "upgrade the server, enable the commands, or use another protocol".to_owned(),
        DoctorFinding::NotAllowed { user, rule, .. } => format!("ACL SETUSER {user} {rule}"),
        DoctorFinding::UserOfOtherCommands { user, rule } => {
            format!("connect as the user of the fleet; if it is this one: ACL SETUSER {user} {rule}")
        }
        DoctorFinding::Clocks(_) => "let NTP set both clocks".to_owned(),
        DoctorFinding::CannotSave { .. } => "see the server's log, and make room on its disk".to_owned(),
        DoctorFinding::NearlyFull { .. } => "raise maxmemory, or delete keys".to_owned(),
        DoctorFinding::TooFewReplicas { .. } => {
            "connect the replicas that are missing, or lower min-replicas-to-write".to_owned()
        }
        DoctorFinding::Server(ServerHazard::Evicts { .. }) => "CONFIG SET maxmemory-policy noeviction".to_owned(),
        DoctorFinding::Server(ServerHazard::WritesAlone { .. }) => "CONFIG SET min-replicas-to-write 1".to_owned(),
        DoctorFinding::Server(ServerHazard::ForgetsOnRestart) => {
            "CONFIG SET appendonly yes appendfsync always".to_owned()
        }
        DoctorFinding::ClusterNotExamined
        | DoctorFinding::InfoRefused { .. }
        | DoctorFinding::IsLoading
        | DoctorFinding::CommandsNotExamined
        | DoctorFinding::PermissionsNotExamined
        | DoctorFinding::ClockNotExamined
        | DoctorFinding::MemoryNotExamined
        | DoctorFinding::HasSavedNothing => return None,
    })
}

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();

impl Report for Doctor {
    fn text(&self, _width: Option<u16>) -> String {
        self.servers.iter().map(Examined::text).collect::<Vec<_>>().join("\n")
    }
}

impl Examined {
    fn text(&self) -> String {
        let Self { server, software, version, mode, role, .. } = self;
        let role = if self.is_sentinel { String::new() } else { format!(", {role}") };
        let facts = if software.is_empty() {
            "unknown version".to_owned()
        } else {
            format!("{software} {version}, {mode}{role}")
        };
        let mut text = format!("{BOLD}{server}{BOLD:#}  {facts}\n");
        for subject in Subject::ALL.map(Subject::name) {
            let mut found = self.findings.iter().filter(|row| row.subject == subject).peekable();
            // Of a Sentinel only its role is examined.
            if found.peek().is_none() && !self.is_sentinel {
                text += &format!("  {GOOD}fits{GOOD:#}          {subject}\n");
            }
            for row in found {
                let style = if row.weight == weight(Weight::Harmful) { BAD } else { Style::new() };
                text += &format!("  {style}{:<12}{style:#}  {subject}: {}\n", row.weight, row.says);
                if let Some(change) = &row.change {
                    text += &format!("                to change: {change}\n");
                }
            }
        }
        text
    }
}
