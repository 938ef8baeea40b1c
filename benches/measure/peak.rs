//! The most memory that a command needs.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use lockshift::driver::host;

/// Runs the command to its end and returns its peak memory in KiB, as sampled while it ran.
pub(crate) fn memory_kib(mut command: Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).spawn().expect("it was built");
    let mut most = 0;
    while child.try_wait().expect("it is ours").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(peak.unwrap_or(0));
        host::sleep(Duration::from_millis(2));
    }
    most
}
