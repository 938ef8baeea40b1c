//! What stands on a terminal: results fit its width, and progress is shown there and nowhere else.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::command::lockshift;

/// The two ends of a new terminal with this many columns and rows: ours, and the one of the program.
fn terminal(columns: u16, rows: u16) -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let theirs = File::options().read(true).write(true).open(path).unwrap();
    tcsetwinsize(&theirs, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    (File::from(ours), theirs.into())
}

/// All that the command writes to the terminal.
fn shown(mut command: Command, mut ours: File, theirs: OwnedFd, stdout: bool) -> String {
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    match stdout {
        true => command.stdout(Stdio::from(theirs)).stderr(Stdio::null()),
        false => command.stdout(Stdio::null()).stderr(Stdio::from(theirs)),
    };
    let mut child = command.spawn().unwrap();
    // Our copy of the program's end: the terminal ends when the program does.
    drop(command);
    let mut bytes = Vec::new();
    // A terminal whose other end is closed is an error on Linux.
    let _ = ours.read_to_end(&mut bytes);
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap().replace('\r', "")
}

/// What a command prints on a terminal of this size.
fn printed(args: &[&str], columns: u16, rows: u16) -> String {
    let (ours, theirs) = terminal(columns, rows);
    let mut command = lockshift();
    command.args(args);
    shown(command, ours, theirs, true)
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.trim_end().chars().count()).max().unwrap()
}

#[test]
fn a_terminal_of_size_zero_counts_as_80_columns() {
    let usual = printed(&["protocols"], 80, 24);
    assert!(widest(&usual) <= 80, "{usual}");
    assert_eq!(printed(&["protocols"], 0, 0), usual);
    assert!(widest(&printed(&["protocols"], 100, 24)) > widest(&usual), "the width makes a difference");
}

#[test]
fn tables_and_hints_break_between_words() {
    let args = ["matrix", "php-getset", "token"];
    // The stamps of two runs differ.
    let words = |text: &str| -> Vec<String> {
        let words = text.split_whitespace().filter(|word| !word.starts_with(|first: char| first.is_ascii_digit()));
        words.map(str::to_owned).collect()
    };
    let wide = printed(&args, 500, 24);
    assert!(widest(&wide) > 66, "there is something to break: {wide}");
    for columns in [50, 66] {
        let narrow = printed(&args, columns, 24);
        assert!(widest(&narrow) <= usize::from(columns), "{narrow}");
        assert_eq!(words(&narrow), words(&wide), "{columns} columns:\n{narrow}");
    }
}

#[test]
fn the_progress_of_a_matrix_is_shown_on_a_terminal_alone() {
    let (ours, theirs) = terminal(80, 24);
    let mut command = lockshift();
    command.args(["matrix", "token", "php-getset", "java-getset"]);
    let progress = shown(command, ours, theirs, false);
    let rates = progress.split(' ').filter_map(|word| word.strip_suffix("/s,"));
    assert!(progress.contains(" pairs, "), "{progress:?}");
    for rate in rates {
        assert!(rate.bytes().all(|byte| byte.is_ascii_digit() || byte == b','), "not a whole number: {rate}");
    }
    let mut command = lockshift();
    command.args(["matrix", "token"]);
    assert_eq!(super::command::done(command, [""; 0]).stderr, "");
}

/// Locks, their holders and waiters, and what happened last, on a page of the terminal's size.
#[test]
fn a_watch_draws_a_page_that_fits_the_terminal() {
    let (columns, rows) = (100, 12);
    let drawn = printed(&["watch", "tests/traces/php-fleet.log"], columns, rows);
    let pages: Vec<&str> = drawn.split("\x1b[H\x1b[2J").collect();
    let page = pages.last().unwrap();
    assert!(pages.len() > 1 && pages[0].is_empty(), "each page begins at the top of an empty screen: {drawn:?}");
    assert!(page.trim_start().starts_with("LOCK") && page.contains("HELD BY"), "{page}");
    assert!(page.contains("did not release") || page.contains("released after"), "what happened last: {page}");
    assert!(page.trim_end().ends_with(" findings; Ctrl-C ends"), "{page}");
    assert!(page.lines().count() < usize::from(rows), "{} lines:\n{page}", page.lines().count());
    assert!(widest(page) <= usize::from(columns), "{page}");
}
