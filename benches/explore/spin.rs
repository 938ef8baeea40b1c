//! SPIN, where it is installed: the model is translated, compiled and run in a directory of its own.

use std::path::Path;
use std::process::Command;

use super::timed;

/// What SPIN has found, and how long that took.
pub(crate) struct Found {
    /// Distinct states: all its states but the first, in which no client is there yet.
    pub(crate) states: usize,
    pub(crate) violation: bool,
    pub(crate) bytes: usize,
    pub(crate) secs: f64,
}

/// The number of states of the model, or an error.
pub(crate) fn run(clients: usize, lease: u64, ticks: u16) -> Result<Found, String> {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/spin/getset.pml");
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sizes = [format!("-DCLIENTS={clients}"), format!("-DLEASE={lease}"), format!("-DTICKS={ticks}")];
    call(folder.path(), Command::new("spin").args(&sizes).args(["-o2", "-a", model]))?;
    let options = ["-O2", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=8192", "-DVECTORSZ=2048", "-w"];
    call(folder.path(), Command::new("cc").args(options).args(["-o", "pan", "pan.c"]))?;
    let pan = folder.path().join("pan");
    let (output, secs) = timed(|| call(folder.path(), Command::new(pan).args(["-c0", "-m100000", "-w24"])));
    Found::read(&output?, secs).ok_or_else(|| "pan does not print how many states it stored".to_owned())
}

impl Found {
    fn read(output: &str, secs: f64) -> Option<Self> {
        let before =
            |words| output.lines().find_map(|line| line.trim().strip_suffix(words)?.trim().parse::<f64>().ok());
        let states = before("states, stored")?;
        let megabytes = output.lines().find(|line| line.contains("actual memory usage for states"))?;
        let megabytes: f64 = megabytes.split_whitespace().next()?.parse().ok()?;
        let errors = output.lines().find_map(|line| line.split_once("errors: "))?.1;
        Some(Self {
            states: states as usize - 1,
            violation: errors.trim() != "0",
            bytes: (megabytes * f64::from(1 << 20) / states) as usize,
            secs,
        })
    }
}

/// What a program says.
fn call(folder: &Path, command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.current_dir(folder).output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
