//! Traces that begin in the middle of things: somebody holds a lock, and nothing is known of it.

use std::fmt::Write;

use lockshift::audit::Audit;

use super::written::audit;

/// A round of each client of a lock that `acquires`, and is given back by a script that lists these calls. Before the trace
/// began one of them had acquired it.
fn rounds(acquires: &str, release: (&str, &[&str])) -> Audit {
    let (mut text, mut at) = (String::new(), 0);
    let mut says = |source: &str, words: &str| {
        at += 1;
        let _ = writeln!(text, "1700000000.{at:06} [0 {source}] {words}");
    };
    let client = |who: u32| format!("10.0.0.{who}:1");
    let token = |who: u32| format!("a{who:031x}");
    let gives_back = |says: &mut dyn FnMut(&str, &str), who: u32| {
        says(&client(who), &release.0.replace("TOKEN", &token(who)));
        release.1.iter().for_each(|call| says("lua", call));
    };
    let acquire = |who: u32| acquires.replace("TOKEN", &token(who));
    says(&client(2), &acquire(2));
    gives_back(&mut says, 1);
    for who in [3, 2, 1, 3, 2, 1] {
        says(&client(who), &acquire(who));
        says(&client(who % 3 + 1), &acquire(who % 3 + 1));
        gives_back(&mut says, who);
    }
    audit(&text)
}

/// What a script is listed to delete is gone, whoever was taken to hold it.
#[test]
fn whoever_was_refused_first_is_not_taken_for_the_holder_for_a_whole_lease() {
    const ACQUIRE: &str = r#""SET" "lock" "TOKEN" "NX" "PX" "30000""#;
    let text = include_str!("../../../modern/src/lua/announced/release.lua").replace('\n', "\\n").replace('"', "\\\"");
    let release = format!(r#""EVAL" "{text}" "2" "lock" "{{lock}}:released" "TOKEN" "publish""#);
    let calls = [r#""get" "lock""#, r#""del" "lock""#, r#""publish" "{lock}:released" "0""#];
    let audit = rounds(ACQUIRE, (&release, &calls));
    assert!(audit.findings.is_empty(), "{:#?}", audit.findings);
    let [lock] = audit.locks.as_slice() else { panic!("one lock: {:#?}", audit.locks) };
    // The first one was none: that is found out, and it was no more than likely.
    assert_eq!((lock.tally.acquisitions, lock.tally.releases), (7, 6), "{lock:#?}");
}
