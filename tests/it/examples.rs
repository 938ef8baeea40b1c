//! The examples do what they say, on a real server: alone, and where another machine holds the lock.

use std::path::Path;
use std::process::{Command, Output};

use crate::server::Server;

/// Runs this example on this server.
pub(crate) fn run(example: &str, args: &[&str], server: &Server) -> Output {
    let mut cargo = Command::new(std::env::var("CARGO").expect("cargo runs the tests"));
    cargo.args(["run", "--quiet", "--locked", "--example", example]);
    // As this test was built, so that nothing but the example itself is built anew.
    if cfg!(feature = "tokio") {
        cargo.arg("--all-features");
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    // Build scripts that watch what cargo says of the package under test (that of `ring` does) would run again, and all that
    // depends on them would be built twice: here, and by the next cargo that is not the child of a test.
    let of_the_package = |name: &str| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(of_the_package)) {
        cargo.env_remove(name);
    }
    let cargo = cargo.arg("--").args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.env("REDIS_URL", server.url()).output().expect("cargo runs")
}

/// The standard output of this example, run on this server. It exits with 0.
fn seen(example: &str, server: &Server) -> String {
    let output = run(example, &[], server);
    assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("an example prints text")
}

/// Runs it alone, and then while another client holds the lock.
fn alone_and_in_company(example: &str, lines: [&str; 4]) {
    let server = Server::start();
    let alone = seen(example, &server);
    assert_eq!(alone.lines().count(), lines.len(), "{alone}");
    alone.lines().zip(lines).for_each(|(line, expected)| assert!(line.starts_with(expected), "{alone}"));
    assert_eq!(redis::cmd("DBSIZE").query(&mut server.connect()), Ok(0), "the lock was released");

    redis::cmd("SET").arg("example:job").arg("another's").exec(&mut server.connect()).unwrap();
    assert_eq!(seen(example, &server), "another machine runs the job\n");
    assert_eq!(redis::cmd("GET").arg("example:job").query(&mut server.connect()), Ok("another's".to_owned()));
}

#[test]
fn with_threads() {
    let steps = ["step 1, with ", "step 2, with ", "step 3, with ", "done, and released"];
    alone_and_in_company("blocking", steps);
}

#[cfg(feature = "tokio")]
#[test]
fn with_tokio() {
    alone_and_in_company("tokio", ["step 1", "step 2", "step 3", "done, and released"]);
}

#[test]
fn with_a_resource_that_knows_fences() {
    let output = [
        "the second holder writes: accepted",
        "the first holder writes: refused, its fence is stale",
        "the report is by the second holder",
        "the first holder gives the lock back: it had lost it",
        "the second holder gives the lock back: it was its own",
    ];
    assert_eq!(seen("fenced", &Server::start()).lines().collect::<Vec<_>>(), output);
}

#[test]
fn every_example_is_among_these() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["blocking.rs", "fenced.rs", "metrics.rs", "migration", "tokio.rs"], "one without a test?");
}

#[test]
fn with_counters_for_prometheus() {
    let server = Server::start();
    let output = seen("metrics", &server);
    assert!(output.contains("# TYPE lockshift_acquired_total counter\n"), "{output}");
    assert!(
        output.contains("lockshift_acquired_total{key=\"example:metrics\"} 20\n"),
        "four workers, five times each: {output}"
    );
    assert!(output.contains("lockshift_refused_total{key=\"example:metrics\"} 0\n"), "{output}");
    assert_eq!(redis::cmd("DBSIZE").query(&mut server.connect()), Ok(0), "neither a lock nor a queue stays behind");
}
