//! What a user may run: each command of a fleet is tried by ACL DRYRUN, on names of each pattern.

use std::collections::BTreeSet;

use super::covered::covered;
use super::finding::DoctorFinding;
use crate::permissions::Permissions;
use crate::wire::{Command, Reply, Transcript, Turn};

/// Which of the commands this user may not run on these keys and channels. Those that the server does not know are not tried.
pub(super) fn permissions(
    needed: &Permissions,
    known: Option<&BTreeSet<String>>,
    redis: &mut Transcript,
) -> Turn<Option<DoctorFinding>> {
    let Reply::Bulk(user) = redis.send(Command::new("ACL").arg("WHOAMI"))? else {
        return Ok(Some(DoctorFinding::PermissionsNotExamined));
    };
    let [keys, channels] = [&needed.keys, &needed.channels]
        .map(|patterns| patterns.iter().map(|pattern| covered(pattern)).collect::<Vec<_>>());
    let mut refused = Vec::new();
    // Whether a command that takes a name may be run on some.
    let mut is_of_fleet = false;
    for command in needed.commands.iter().filter(|name| known.is_none_or(|known| known.contains(*name))) {
        let patterns = match NamedBy::of(command) {
            NamedBy::Keys => keys.as_slice(),
            NamedBy::Channels => &channels,
            NamedBy::Nothing => &[],
        };
        let Some(access) = access(command, patterns, &user, redis)? else {
            return Ok(Some(DoctorFinding::PermissionsNotExamined));
        };
        is_of_fleet |= matches!(access, Access::OnSome | Access::OnAll);
        refused.extend(matches!(access, Access::Never | Access::OnSome).then(|| command.clone()));
    }
    // A selector of its own works whatever the user has, and takes nothing away. What could be added to its other rules is not
    // known: they and each selector are tried one by one.
    let (user, rule) = (String::from_utf8_lossy(&user).into_owned(), needed.selector());
    Ok(match refused.is_empty() {
        true => None,
        false if is_of_fleet => Some(DoctorFinding::NotAllowed { user, commands: refused, rule }),
        // Of another program: it may run no command that takes a name.
        false => Some(DoctorFinding::UserOfOtherCommands { user, rule }),
    })
}

/// What the first words of a command name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedBy {
    Keys,
    Channels,
    Nothing,
}

impl NamedBy {
    fn of(command: &str) -> Self {
        match command {
            "select" | "wait" | "waitaof" => Self::Nothing,
            _ if command.ends_with("publish") || command.ends_with("subscribe") => Self::Channels,
            // Those without any are found out by that they want no further word.
            _ => Self::Keys,
        }
    }
}

/// Whether a user may run a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// On no name.
    Never,
    /// On none or some of the names that were tried: others may be permitted.
    OnSome,
    /// On every name that was tried.
    OnAll,
    /// It takes no name.
    Nameless,
}

/// Whether this user may run a command on the names of each of these patterns; `None` where the server does not say.
fn access(command: &str, patterns: &[Vec<Vec<u8>>], user: &[u8], redis: &mut Transcript) -> Turn<Option<Access>> {
    let mut trial = Trial { command, user, behind: Vec::new() };
    let is_script = command.starts_with("eval");
    if !is_script {
        match trial.run(&[], patterns.is_empty(), redis)? {
            // It takes a name.
            DryRunAnswer::TooShort => {}
            DryRunAnswer::Yes => return Ok(Some(Access::Nameless)),
            DryRunAnswer::NotTheCommand => return Ok(Some(Access::Never)),
            DryRunAnswer::NotTheName | DryRunAnswer::Unknown => return Ok(None),
        }
    }
    let each = patterns.iter().flatten().map(|name| vec![name.as_slice()]);
    // A script may use names of all patterns at once, and one set of rules has to permit all of them.
    let together: Vec<&[u8]> = patterns.iter().filter_map(|names| names.first().map(Vec::as_slice)).collect();
    let together = Some(together).filter(|names| is_script && names.len() > 1);
    let mut access = Access::OnAll;
    for names in each.chain(together) {
        match trial.run(&names, true, redis)? {
            DryRunAnswer::Yes => {}
            DryRunAnswer::NotTheName => access = Access::OnSome,
            // Of several names, the server may call the command what is refused.
            DryRunAnswer::NotTheCommand if names.len() > 1 => access = Access::OnSome,
            DryRunAnswer::NotTheCommand => return Ok(Some(Access::Never)),
            DryRunAnswer::TooShort | DryRunAnswer::Unknown => return Ok(None),
        }
    }
    Ok(Some(access))
}

/// A command that is tried.
struct Trial<'a> {
    command: &'a str,
    user: &'a [u8],
    /// The words behind the name.
    behind: Vec<&'static str>,
}

/// What ACL DRYRUN says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DryRunAnswer {
    Yes,
    NotTheCommand,
    NotTheName,
    /// It lacks words: these are judged first.
    TooShort,
    Unknown,
}

impl Trial<'_> {
    /// Tries it on these names; with one word more until there are enough, if it may have more.
    fn run(&mut self, names: &[&[u8]], may_have_more: bool, redis: &mut Transcript) -> Turn<DryRunAnswer> {
        const MOST_WORDS: usize = 5;
        let count = names.len().to_string();
        // A script has its text and the number of its keys before them.
        let before: &[&str] = if self.command.starts_with("eval") { &["x", &count] } else { &[] };
        loop {
            let dry = Command::new("ACL").arg("DRYRUN").arg(self.user);
            let dry = self.command.split('|').chain(before.iter().copied()).fold(dry, Command::arg);
            let dry = names.iter().fold(dry, |dry, name| dry.arg(name));
            let dry = self.behind.iter().fold(dry, |dry, word| dry.arg(*word));
            match DryRunAnswer::of(&redis.send(dry)?) {
                DryRunAnswer::TooShort if may_have_more && self.behind.len() < MOST_WORDS => self.behind.push("1"),
                answer => return Ok(answer),
            }
        }
    }
}

impl DryRunAnswer {
    fn of(reply: &Reply) -> Self {
        match reply {
            Reply::Status(_) => Self::Yes,
            // `... to access the 'lock:x' key`, `... to run the 'get' command`.
            Reply::Bulk(text) if [&b" key"[..], b" channel"].iter().any(|end| text.ends_with(end)) => Self::NotTheName,
            Reply::Bulk(_) => Self::NotTheCommand,
            Reply::Error(text) if text.contains("wrong number of arguments") => Self::TooShort,
            _ => Self::Unknown,
        }
    }
}
