//! SPIN, where it is installed: the model is translated, compiled and run in a directory of its own.

use std::path::Path;
use std::process::Command;

use super::timed;

/// How many states SPIN stores, and how long that takes; or why not.
pub(crate) fn run(clients: usize, lease: u64, ticks: u16) -> Result<(usize, f64), String> {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/spin/getset.pml");
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sizes = [format!("-DCLIENTS={clients}"), format!("-DLEASE={lease}"), format!("-DTICKS={ticks}")];
    call(folder.path(), Command::new("spin").args(&sizes).args(["-a", model]))?;
    let options = ["-O2", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=8192", "-DVECTORSZ=2048", "-w"];
    call(folder.path(), Command::new("cc").args(options).args(["-o", "pan", "pan.c"]))?;
    let pan = folder.path().join("pan");
    let (said, secs) = timed(|| call(folder.path(), Command::new(pan).args(["-c0", "-m100000", "-w24"])));
    let states = said?.lines().find_map(|line| line.trim().strip_suffix(" states, stored")?.parse::<f64>().ok());
    Ok((states.ok_or("pan does not say how many states it stored")? as usize, secs))
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
