//! The commands that the audit asks about. A name is compared once: many questions are asked about each command.

use std::ops::Deref;

use crate::wire::Command;

/// The name of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommandName {
    Del,
    Delex,
    Delifeq,
    Eval,
    Evalsha,
    Exec,
    Exists,
    Expire,
    Fcall,
    Get,
    Getset,
    Msetnx,
    Multi,
    Pexpire,
    Psetex,
    Pttl,
    Set,
    Setex,
    Setnx,
    Ttl,
    Unwatch,
    Watch,
    /// None that the audit asks about.
    Other,
}

/// A command, and which one it is. It derefs to the command.
#[derive(Clone, Debug)]
pub(super) struct NamedCommand {
    command: Command,
    name: CommandName,
}

impl CommandName {
    /// Which command has this name, in whatever case it was written.
    fn of(name: &[u8]) -> Self {
        let mut small = [0_u8; 8];
        let Some(small) = small.get_mut(..name.len()) else { return Self::Other };
        small.copy_from_slice(name);
        small.make_ascii_lowercase();
        match &*small {
            b"del" => Self::Del,
            b"delex" => Self::Delex,
            b"delifeq" => Self::Delifeq,
            b"eval" => Self::Eval,
            b"evalsha" => Self::Evalsha,
            b"exec" => Self::Exec,
            b"exists" => Self::Exists,
            b"expire" => Self::Expire,
            b"fcall" => Self::Fcall,
            b"get" => Self::Get,
            b"getset" => Self::Getset,
            b"msetnx" => Self::Msetnx,
            b"multi" => Self::Multi,
            b"pexpire" => Self::Pexpire,
            b"psetex" => Self::Psetex,
            b"pttl" => Self::Pttl,
            b"set" => Self::Set,
            b"setex" => Self::Setex,
            b"setnx" => Self::Setnx,
            b"ttl" => Self::Ttl,
            b"unwatch" => Self::Unwatch,
            b"watch" => Self::Watch,
            _ => Self::Other,
        }
    }
}

impl NamedCommand {
    /// Which command it is.
    pub(super) fn name(&self) -> CommandName {
        self.name
    }

    /// Whether it runs a script.
    pub(super) fn is_script(&self) -> bool {
        matches!(self.name, CommandName::Eval | CommandName::Evalsha)
    }

    /// Whether it is the command of this name.
    pub(super) fn is(&self, name: CommandName) -> bool {
        self.name == name
    }

    /// Whether its name is one of these.
    pub(super) fn is_any(&self, names: &[CommandName]) -> bool {
        names.contains(&self.name)
    }
}

impl From<Command> for NamedCommand {
    fn from(command: Command) -> Self {
        let name = CommandName::of(command.name());
        Self { command, name }
    }
}

impl Deref for NamedCommand {
    type Target = Command;

    fn deref(&self) -> &Command {
        &self.command
    }
}
