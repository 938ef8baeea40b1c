//! Words that must not be in the repository: paths of one machine, and a private vocabulary that the project once had.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use super::sources::{all_files, root};

/// Words and phrases of the old private vocabulary, with what to write instead.
const BANNED: [(&str, &str); 17] = [
    ("somebody", "another client, the holder"),
    ("whoever", "the client that"),
    ("give back", "release"),
    ("gives back", "releases"),
    ("given back", "released"),
    ("gave back", "released"),
    ("giving back", "releasing"),
    ("is over", "has expired, has ended"),
    ("be at it", "hold"),
    ("bell", "release channel"),
    ("bells", "release listener"),
    ("tenancy", "held lock"),
    ("doer", "culprit"),
    ("deed", "cause"),
    ("eternity", "unbounded"),
    ("trouble", "error kind"),
    ("troubles", "error kinds"),
];

/// Words that are plain English in prose, and say nothing as a name in the sources of the product.
const BANNED_NAMES: [(&str, &str); 2] = [("told", "reported, shown"), ("said", "sent, reply, transcript")];

/// Where a banned word is right: the end of the path, the phrase, the reason.
const ALLOWED: [(&str, &str, &str); 10] = [
    ("src/report/plan.rs", "deed", "a field of `plan --json`: a contract"),
    ("tests/it/cli/plan.rs", "deed", "a field of `plan --json`: a contract"),
    (".rs", "never given back", "a field of `dry-run --json`: a contract"),
    ("schemas/plan.json", "deed", "a field of `plan --json`: a contract"),
    ("schemas/dry-run.json", "never given back", "a field of `dry-run --json`: a contract"),
    ("modern/src/fair.rs", "bell", "part of the name of a channel, which programs of other versions use"),
    ("tests/it/contract/modern/fair.txt", "bell", "part of the name of a channel"),
    ("modern/tests/modern/fair.rs", "bell", "part of the name of a channel"),
    ("modern/tests/modern/traits.rs", "bell", "part of the name of a channel"),
    ("tests/it/audit/begun.rs", "bell", "part of the name of a channel"),
];

#[test]
fn nothing_here_names_the_machine_it_was_written_on() {
    // In two parts each, or this file would be the first to break the rule.
    let foreign = [["/wo", "rk/"], ["../sha", "red"], ["/tmp", "/wt"], ["/ho", "me/"], ["/ro", "ot/"], ["/Us", "ers/"]];
    let foreign = foreign.map(|halves| halves.concat());
    let mut broken = Vec::new();
    for path in all_files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            if foreign.iter().any(|word| line.contains(word)) {
                broken.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(broken.is_empty(), "these lines name a place that exists on one machine only:\n{}", broken.join("\n"));
}

#[test]
fn the_private_vocabulary_does_not_come_back() {
    let broken: Vec<_> = texts().iter().flat_map(|(path, text)| findings(path, text)).collect();
    assert!(broken.is_empty(), "words that this project does not use:\n{}", broken.join("\n"));
}

#[test]
fn a_planted_word_is_found() {
    let found = |text: &str| findings(Path::new("src/planted.rs"), text);
    for planted in [
        "/// Whoever waits.",
        "fn nothing_is_given_back() {}",
        "// The lease\n// is over.",
        "struct TheBell;",
        "fn f(has_told: bool) {}",
        "const SAID: u8 = 1;",
    ] {
        assert_eq!(found(planted).len(), 1, "{planted}: {:?}", found(planted));
    }
    for innocent in [
        "// The holder is told by an event.",
        "const TEXT: &str = \"he said\";",
        "fn never_given_back() {}",
        "// a bellwether is overdue",
    ] {
        assert_eq!(found(innocent), [""; 0], "{innocent}");
    }
}

#[test]
fn every_exception_is_needed() {
    let texts = texts();
    for (end, phrase, reason) in ALLOWED {
        let needs = |(path, text): &(PathBuf, String)| {
            let phrase: Vec<_> = phrase.split(' ').collect();
            path.to_string_lossy().ends_with(end)
                && words(text).windows(phrase.len()).any(|part| is_phrase(part, &phrase))
        };
        assert!(texts.iter().any(needs), "no file {end} says \"{phrase}\" any more ({reason})");
    }
}

/// The text files of the repository but this one, which names the words.
fn texts() -> Vec<(PathBuf, String)> {
    let files = all_files().into_iter().filter(|path| !path.ends_with("tidy/words.rs"));
    files.filter_map(|path| Some((path.clone(), fs::read_to_string(root().join(path)).ok()?))).collect()
}

/// The banned words of a text; those of prose with their lines.
fn findings(path: &Path, text: &str) -> Vec<String> {
    let of_prose = phrases(path, &words(text), &BANNED);
    let mut found: Vec<_> = of_prose.into_iter().map(|(line, sentence)| format!("line {line} of {sentence}")).collect();
    let is_product = ["src", "wire", "lock", "legacy", "modern", "tests/it"].iter().any(|room| path.starts_with(room));
    if is_product && path.extension().is_some_and(|extension| extension == "rs") {
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut names = String::new();
        gather(tokens, &mut names);
        // One name a line, so its line says nothing about the file.
        found.extend(phrases(path, &words(&names), &BANNED_NAMES).into_iter().map(|(_, sentence)| sentence));
    }
    found
}

fn phrases(path: &Path, words: &[(usize, String)], banned: &[(&str, &str)]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (phrase, instead) in banned {
        let parts: Vec<_> = phrase.split(' ').collect();
        for (place, window) in words.windows(parts.len()).enumerate() {
            if is_phrase(window, &parts) && !is_allowed(path, words, place, phrase) {
                found.push((window[0].0, format!("{}: \"{phrase}\": say {instead}", path.display())));
            }
        }
    }
    found
}

fn is_phrase(window: &[(usize, String)], phrase: &[&str]) -> bool {
    window.iter().map(|(_, word)| word.as_str()).eq(phrase.iter().copied())
}

/// Whether the banned phrase at this place is part of one that is allowed in this file.
fn is_allowed(path: &Path, words: &[(usize, String)], place: usize, banned: &str) -> bool {
    ALLOWED.iter().any(|(end, allowed, _)| {
        let parts: Vec<_> = allowed.split(' ').collect();
        let before = allowed.find(banned).map(|at| allowed[..at].matches(' ').count());
        let begin = before.and_then(|before| place.checked_sub(before));
        let window = begin.and_then(|begin| words.get(begin..begin + parts.len()));
        path.to_string_lossy().ends_with(end) && window.is_some_and(|window| is_phrase(window, &parts))
    })
}

/// The words of a text in small letters, each with its line. Names are taken apart: `is_over` and `IsOver` are two words.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut word = String::new();
        let mut was_small = false;
        for letter in line.chars().chain([' ']) {
            let begins = letter.is_uppercase() && was_small;
            if (begins || !letter.is_alphabetic()) && !word.is_empty() {
                words.push((number, std::mem::take(&mut word).to_lowercase()));
            }
            if letter.is_alphabetic() {
                word.push(letter);
            }
            was_small = letter.is_lowercase();
        }
    }
    words
}

/// The identifiers, one a line; comments and strings have none.
fn gather(tokens: TokenStream, names: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => gather(group.stream(), names),
            TokenTree::Ident(name) => *names += &format!("{name}\n"),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
