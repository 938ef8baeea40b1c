//! The processes below this one. Only Linux lists them, and gives those whose parent has ended to an ancestor that wants
//! them; elsewhere a process group has to do.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

use crate::driver::host;

/// How long to leave a killed process before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// A process that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: Pid,
    pub(super) parent: Option<Pid>,
    /// Zero where its leader is outside of our namespace.
    pub(super) group: i32,
    pub(super) session: i32,
}

/// From now on, a process below this one whose parent ends becomes a child of this one.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(getpid()))?)
}

/// From now on, a process below this one whose parent ends would become a child of this one, if the system could do it.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// The children that this process has.
pub(crate) fn children() -> HashSet<Pid> {
    let all = all().unwrap_or_default();
    all.iter().filter(|process| process.parent == Some(getpid())).map(|process| process.pid).collect()
}

/// Kills whatever runs below this process, except these children and what is below them, and waits until it is gone. Reaps all
/// children that have ended.
pub(crate) fn kill_descendants(except: &HashSet<Pid>) {
    loop {
        let Some(all) = all() else { return };
        let spared: HashSet<Pid> = except.iter().flat_map(|child| below(*child, &all)).map(|it| it.pid).collect();
        let mut left = below(getpid(), &all);
        left.retain(|process| !except.contains(&process.pid) && !spared.contains(&process.pid));
        // A list after which something is to be reaped may lack a process: see `Job::has_ended`.
        if left.is_empty() {
            if reap() {
                continue;
            }
            return;
        }
        for process in left {
            // At worst it has ended since.
            let _ = kill_process(process.pid, Signal::KILL);
        }
        host::sleep(PAUSE);
    }
}

/// Reaps all children that have ended: whether there were any.
fn reap() -> bool {
    std::iter::from_fn(|| wait(WaitOptions::NOHANG).ok().flatten()).count() > 0
}

/// The session that this process is in.
pub(super) fn own_session() -> Option<i32> {
    Some(parse(&fs::read("/proc/self/stat").ok()?)?.session)
}

/// Every process below this one that has not ended; `None` where the system does not list them.
pub(super) fn descendants(root: Pid) -> Option<Vec<Process>> {
    Some(below(root, &all()?))
}

fn below(root: Pid, all: &[Process]) -> Vec<Process> {
    let mut children: HashMap<Pid, Vec<&Process>> = HashMap::new();
    for process in all {
        if let Some(parent) = process.parent {
            children.entry(parent).or_default().push(process);
        }
    }
    let (mut found, mut parents) = (Vec::new(), vec![root]);
    while let Some(parent) = parents.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            parents.push(process.pid);
            found.push(process.clone());
        }
    }
    found
}

/// Every process that has not ended; `None` where the system does not list them, us among them.
fn all() -> Option<Vec<Process>> {
    if !cfg!(any(target_os = "linux", target_os = "android")) {
        return None;
    }
    let numbers = fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = numbers.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let all: Vec<_> = numbers.filter_map(|number| parse(&fs::read(format!("/proc/{number}/stat")).ok()?)).collect();
    all.iter().any(|process| process.pid == getpid()).then_some(all)
}

/// A line of `/proc/PID/stat`: `PID (NAME) STATE PARENT GROUP SESSION ...`; `None` for a process that has ended. A name may
/// hold any bytes, parentheses too.
fn parse(stat: &[u8]) -> Option<Process> {
    let (open, close) = (memchr::memchr(b'(', stat)?, memchr::memrchr(b')', stat)?);
    let number = |word: &str| word.parse::<i32>().ok();
    let pid = |word: &str| number(word).and_then(Pid::from_raw);
    let mut words = std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace();
    let state = words.next()?;
    let process = Process {
        pid: pid(std::str::from_utf8(&stat[..open]).ok()?.trim())?,
        parent: pid(words.next()?),
        group: number(words.next()?)?,
        session: number(words.next()?)?,
    };
    // A zombie with threads is a process whose first thread has ended.
    let threads = words.nth(13).and_then(number);
    (!["Z", "X", "x"].contains(&state) || threads > Some(1)).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_fields_behind_it() {
        let found = parse(b"42 (a) Z 7 (b) S 1 40 39 34816 41 4194304 140").unwrap();
        assert_eq!([Some(found.pid), found.parent], [42, 1].map(Pid::from_raw));
        assert_eq!([found.group, found.session], [40, 39]);
        assert_eq!(parse(b"42 (\xff) Z 1 40 39 0 -1 4228 0 0 0 0 0 0 0 0 20 0 1 0 99"), None, "it has ended");
        assert!(parse(b"42 (\xff) Z 1 40 39 0 -1 4228 0 0 0 0 0 0 0 0 20 0 2 0 99").is_some(), "a thread has not");
        assert_eq!(parse(b"42 (sh) S 1"), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let process =
            |number, parent| Process { pid: pid(number), parent: Pid::from_raw(parent), group: 1, session: 1 };
        let all = [process(9, 5), process(1, 0), process(5, 3), process(3, 2), process(4, 1), process(2, 1)];
        let found: Vec<_> = below(pid(2), &all).iter().map(|process| process.pid).collect();
        assert_eq!(found, [pid(3), pid(5), pid(9)], "parents first");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_among_all() {
        assert!(all().is_some_and(|all| all.iter().any(|process| process.pid == getpid())));
    }
}
