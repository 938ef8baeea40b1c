//! A trace in several files, as logs are rotated: the same as in one, wherever it was cut.

use std::fs;

use serde_json::Value;

use super::command::{Done, done, lockshift};
use super::traces::BESIDE;

fn audited(parts: &[&str]) -> Done {
    let folder = tempfile::tempdir().unwrap();
    let mut command = lockshift();
    command.arg("audit").current_dir(&folder);
    for (number, part) in parts.iter().enumerate() {
        let name = format!("{number}.log");
        fs::write(folder.path().join(&name), part).unwrap();
        command.arg(name);
    }
    done(command, ["--json"])
}

fn findings(done: &Done) -> Value {
    done.json()["findings"].clone()
}

#[test]
fn wherever_a_trace_is_cut_in_two_it_says_the_same() {
    let whole = audited(&[BESIDE]);
    assert_eq!(findings(&whole)[0]["lines"], serde_json::json!([2, 4, 5]));
    // Around every end of a line, and in the midst of words and of a time.
    let ends: Vec<_> = BESIDE.match_indices('\n').map(|(at, _)| at).collect();
    let cuts = ends.iter().flat_map(|end| end.saturating_sub(3)..=end + 12).filter(|cut| BESIDE.is_char_boundary(*cut));
    for cut in cuts {
        let (before, after) = BESIDE.split_at(cut);
        let halves = audited(&[before, after]);
        assert_eq!(
            (halves.code, halves.stderr.as_str()),
            (Some(1), ""),
            "cut at {cut}, {:?}",
            &before[cut.max(9) - 9..]
        );
        assert_eq!(findings(&halves), findings(&whole), "cut at {cut}");
        assert_eq!(halves.json()["commands"], 5);
    }
}

#[test]
fn parts_that_have_nothing_to_do_with_each_other_are_not_joined() {
    let lines: Vec<_> = BESIDE.lines().collect();
    // Without a line feed at the end; with what `redis-cli monitor` says first; with nothing in between.
    let parts = [&lines[..3].join("\n"), "OK", "", &lines[3..].join("\n")];
    let joined = audited(&parts);
    assert_eq!((joined.code, joined.stderr.as_str()), (Some(1), ""));
    assert_eq!(joined.json()["commands"], 5);
    assert_eq!(findings(&joined)[0]["lines"], serde_json::json!([2, 5, 6]), "the OK in between is a line");

    let half = audited(&[&BESIDE[..BESIDE.len() - 4], BESIDE]);
    assert!(half.stderr.starts_with("lockshift: 0.log:6: passed over: "), "{}", half.stderr);
    assert_eq!(half.stderr.lines().count(), 1, "{}", half.stderr);
}

#[test]
fn files_in_the_wrong_order_are_no_all_clear() {
    let [older, newer] = ["17000000", "17000001"].map(|begin| BESIDE.replace("17000000", begin));
    let in_order = audited(&[&older, &newer]);
    assert_eq!((in_order.code, in_order.stderr.as_str()), (Some(1), ""));
    let calm = newer.lines().take(2).map(|line| line.to_owned() + "\n").collect::<String>();
    for (parts, why) in [
        (&[&newer, &older][..], "(1.log begins before 0.log ends): pass the oldest first"),
        (&[&calm, &older.lines().take(2).collect::<Vec<_>>().join("\n")], "1.log begins before 0.log ends"),
        (&[&older, &newer, &older], "2.log begins before 1.log ends"),
    ] {
        let parts: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
        let ended = audited(&parts);
        assert!(ended.code == Some(3) && ended.stderr.contains(why), "{why}: {ended:?}");
        assert!(ended.stdout.contains("\"findings\""), "what was found is shown: {ended:?}");
    }
    let once = super::traces::file(&calm);
    let mut command = lockshift();
    command.arg("audit").args([once.path(), once.path()]);
    let twice = done(command, [""; 0]);
    assert!(twice.code == Some(3) && twice.stderr.contains(" is named twice"), "{twice:?}");
}
