//! This program, to be started once more.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// This program, even if its file has been replaced or deleted since it was started.
pub(super) fn this_program() -> io::Result<Command> {
    let file = if cfg!(any(target_os = "linux", target_os = "android")) {
        "/proc/self/exe".into()
    } else {
        std::env::current_exe()?
    };
    let mut command = Command::new(file);
    command.arg0("lockshift");
    Ok(command)
}
