//! The pages, as the command writes them.

use std::fs;
use std::time::Duration;

use crate::cli::{done, done_within, lockshift};

/// For exploring everything, without optimisation, on a busy machine.
const EXPLORING: Duration = Duration::from_secs(300);

/// The page of one race.
pub(super) fn page_of(id: &str) -> String {
    written(&["races", id], 0)
}

/// The page of what exploring these clients finds first.
pub(super) fn page_of_clients(clients: &[&str]) -> String {
    let clients = clients.iter().flat_map(|client| ["--client", client]);
    let args: Vec<&str> = ["explore", "--grain=coarse", "--ticks=3"].into_iter().chain(clients).collect();
    written(&args, 1)
}

fn written(args: &[&str], status: i32) -> String {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("race.html");
    let written = done(lockshift(), [args, &["--html", file.to_str().expect("a path of ours")]].concat());
    assert_eq!((written.code, written.stderr.as_str()), (Some(status), ""), "{written:?}");
    fs::read_to_string(file).expect("the command has written it")
}

/// The page of every race, by its name.
pub(super) fn all() -> Vec<(String, String)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let pages = directory.path().join("pages/");
    let written = done_within(EXPLORING, lockshift(), ["races", "--html", pages.to_str().expect("a path of ours")]);
    assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""), "{written:?}");
    let files = fs::read_dir(pages).expect("the command has made it").map(|entry| entry.expect("an entry").path());
    let name = |file: &std::path::Path| file.file_stem().expect("a name").to_string_lossy().into_owned();
    files.map(|file| (name(&file), fs::read_to_string(&file).expect("a page is text"))).collect()
}
