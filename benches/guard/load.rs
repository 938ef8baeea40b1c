//! Requests that are not a lock's, by `redis-benchmark`.

use std::process::Command;

/// Answers per second to so many GETs from 50 connections, each with so many under way.
pub(crate) fn requests_per_second(port: u16, pipeline: u32, requests: u32) -> f64 {
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "-c", "50", "-t", "get", "--csv"]);
    command.args(["-p", &port.to_string(), "-P", &pipeline.to_string(), "-n", &requests.to_string()]);
    let output = command.output().expect("it comes with redis-server");
    let text = String::from_utf8_lossy(&output.stdout);
    let rate = text.lines().find_map(|line| line.strip_prefix("\"GET\",\"")?.split('"').next()?.parse().ok());
    rate.unwrap_or_else(|| panic!("redis-benchmark printed no rate: {text}"))
}
