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
        .map(|patterns| patterns.iter().map(|pattern| CoveredPattern::of(pattern)).collect::<Vec<_>>());
    let mut found = Permitted::default();
    for command in needed.commands.iter().filter(|name| known.is_none_or(|known| known.contains(*name))) {
        let names = NamedBy::of(command);
        let patterns = match names {
            NamedBy::Keys => keys.as_slice(),
            NamedBy::Channels => &channels,
            NamedBy::Nothing => &[],
        };
        match access(command, patterns, &user, redis)? {
            Some(access) => found.add(command, names, access),
            None => return Ok(Some(DoctorFinding::PermissionsNotExamined)),
        }
    }
    Ok(found.finding(needed, String::from_utf8_lossy(&user).into_owned()))
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

/// A pattern, and names that it covers.
struct CoveredPattern<'a> {
    pattern: &'a str,
    names: Vec<Vec<u8>>,
}

impl<'a> CoveredPattern<'a> {
    fn of(pattern: &'a str) -> Self {
        Self { pattern, names: covered(pattern) }
    }
}

/// Whether a user may run a command.
enum Access<'a> {
    /// On no key.
    Never,
    /// On every name of the first patterns, and not on every one of the second; both are empty if it takes no name.
    On { permitted: Vec<&'a str>, refused: Vec<&'a str> },
}

/// Whether this user may run a command on each of these patterns; `None` where the server does not say.
fn access<'a>(
    command: &str,
    patterns: &'a [CoveredPattern<'_>],
    user: &[u8],
    redis: &mut Transcript,
) -> Turn<Option<Access<'a>>> {
    let mut trial = Trial { command, user, behind: Vec::new() };
    let (mut permitted, mut refused) = (Vec::new(), Vec::new());
    let is_script = command.starts_with("eval");
    if !is_script {
        match trial.run(None, patterns.is_empty(), redis)? {
            // It takes a name.
            Answer::TooShort => {}
            Answer::Yes => return Ok(Some(Access::On { permitted, refused })),
            Answer::NotTheCommand => return Ok(Some(Access::Never)),
            Answer::NotTheName | Answer::Unknown => return Ok(None),
        }
    }
    for CoveredPattern { pattern, names } in patterns {
        let mut is_permitted = true;
        for name in names {
            match trial.run(Some(name), true, redis)? {
                Answer::Yes => {}
                Answer::NotTheName => is_permitted = false,
                Answer::NotTheCommand => return Ok(Some(Access::Never)),
                Answer::TooShort | Answer::Unknown => return Ok(None),
            }
        }
        if is_permitted { &mut permitted } else { &mut refused }.push(*pattern);
    }
    Ok(Some(Access::On { permitted, refused }))
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
enum Answer {
    Yes,
    NotTheCommand,
    NotTheName,
    /// It lacks words: these are judged first.
    TooShort,
    Unknown,
}

impl Trial<'_> {
    /// Tries it on this name; with one word more until there are enough, if it may have more.
    fn run(&mut self, name: Option<&Vec<u8>>, may_have_more: bool, redis: &mut Transcript) -> Turn<Answer> {
        const MOST_WORDS: usize = 5;
        // A script has its text and the number of its keys before them.
        let before: &[&str] = if self.command.starts_with("eval") { &["x", "1"] } else { &[] };
        loop {
            let dry = Command::new("ACL").arg("DRYRUN").arg(self.user);
            let dry = self.command.split('|').chain(before.iter().copied()).fold(dry, Command::arg);
            let dry = name.into_iter().fold(dry, |dry, name| dry.arg(name.as_slice()));
            let dry = self.behind.iter().fold(dry, |dry, word| dry.arg(*word));
            match Answer::of(&redis.send(dry)?) {
                Answer::TooShort if may_have_more && self.behind.len() < MOST_WORDS => self.behind.push("1"),
                answer => return Ok(answer),
            }
        }
    }
}

impl Answer {
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

/// What was found of all commands.
#[derive(Default)]
struct Permitted {
    /// The commands that are refused, at all or on some name.
    refused: Vec<String>,
    /// The commands that are refused at all, and the patterns that are refused to others.
    missing: Permissions,
    /// The patterns that are permitted to some command.
    reached: BTreeSet<String>,
}

impl Permitted {
    fn add(&mut self, command: &str, names: NamedBy, access: Access<'_>) {
        match access {
            Access::Never => {
                self.missing.commands.insert(command.to_owned());
                self.refused.push(command.to_owned());
            }
            Access::On { permitted, refused } => {
                self.refused.extend((!refused.is_empty()).then(|| command.to_owned()));
                self.reached.extend(permitted.into_iter().map(str::to_owned));
                let missing =
                    if names == NamedBy::Channels { &mut self.missing.channels } else { &mut self.missing.keys };
                missing.extend(refused.into_iter().map(str::to_owned));
            }
        }
    }

    /// What that comes to, and the rule that gives this user what it lacks and leaves it what it has.
    fn finding(self, needed: &Permissions, user: String) -> Option<DoctorFinding> {
        let Self { refused: commands, missing, reached } = self;
        if commands.is_empty() {
            return None;
        }
        let denied: BTreeSet<_> = missing.keys.union(&missing.channels).cloned().collect();
        if reached.is_empty() && denied.is_empty() {
            // Of another program: it may run no command that takes a name.
            return Some(DoctorFinding::UserOfOtherCommands { user, rule: needed.selector() });
        }
        // A pattern that no permitted command takes may be permitted or not, and one that is permitted to some commands alone is
        // in a selector, or for reading: what to add to these is not known. A selector of its own needs none of them.
        let mut patterns = needed.keys.union(&needed.channels);
        let is_known = patterns.all(|pattern| reached.contains(pattern) != denied.contains(pattern));
        let rule = if is_known { missing.addition() } else { needed.selector() };
        Some(DoctorFinding::NotAllowed { user, commands, rule })
    }
}
