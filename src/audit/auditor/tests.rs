//! What the grammar keeps of a conversation is all that matters of it.

use std::fs;
use std::path::Path;

use super::super::share::LockShare;
use super::*;
use crate::monitor::Parser;

/// What a trace shows, and the grammar as it was learnt from it.
fn audited(trace: &str, grammar: Grammar) -> (String, Grammar) {
    let mut share = LockShare::new();
    share.grammar = grammar;
    let mut auditor = Auditor { locks: LockShares::Here(Box::new(share)), ..Auditor::new() };
    let mut parser = Parser::new();
    for (number, line) in (1..).zip(trace.lines()) {
        if let Ok(line) = parser.parse(line.as_bytes()) {
            auditor.read(number, &line);
        }
    }
    let LockShares::Here(share) = &mut auditor.locks else { unreachable!("it has no threads") };
    let grammar = std::mem::replace(&mut share.grammar, Grammar::new());
    let Audit { locks, findings, .. } = auditor.finish();
    (format!("{locks:#?}\n{findings:#?}"), grammar)
}

#[test]
fn what_is_remembered_of_the_protocols_is_what_they_say() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut grammar = Grammar::new();
    for name in ["php-fleet", "python-fleet", "php-beside-token", "php-fleet"] {
        let trace = fs::read_to_string(directory.join(name).with_extension("log")).unwrap();
        let remembered;
        (remembered, grammar) = audited(&trace, grammar);
        let (expected, _) = audited(&trace, Grammar::forgetful());
        assert_eq!(remembered, expected, "{name}");
    }
}
