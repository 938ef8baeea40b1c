//! Errors of the operating system, in sentences: what is wrong and what to do, without numbers.

use std::io::{Error, ErrorKind};

/// What is wrong, and after the colon what to do.
pub(super) fn sentence(error: &Error) -> String {
    let sentence = match error.kind() {
        ErrorKind::NotFound => "there is no such file or directory: correct the name",
        ErrorKind::PermissionDenied => "permission denied: check who may read and write here",
        ErrorKind::IsADirectory => "it is a directory: name a file",
        ErrorKind::NotADirectory => "a part of the path is not a directory: correct the name",
        ErrorKind::StorageFull => "no space is left on the device: make room, or write elsewhere",
        ErrorKind::QuotaExceeded => "the disk quota is exhausted: make room, or write elsewhere",
        ErrorKind::FileTooLarge => "the file would be larger than the system allows: see `ulimit -f`",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only: write elsewhere",
        _ => return without_number(&error.to_string()),
    };
    // An error that was made with a text of its own says more than its kind.
    if error.get_ref().is_some() { error.to_string() } else { sentence.to_owned() }
}

/// The system's text without the number behind it.
pub(super) fn without_number(text: &str) -> String {
    match text.rfind(" (os error ") {
        Some(at) if text.ends_with(')') => text[..at].to_owned(),
        _ => text.to_owned(),
    }
}

#[test]
fn no_number_is_shown() {
    for number in 1..=133 {
        let sentence = sentence(&Error::from_raw_os_error(number));
        assert!(!sentence.is_empty() && !sentence.contains("os error"), "{number}: {sentence}");
    }
    assert_eq!(sentence(&Error::other("there is no directory x")), "there is no directory x");
    assert_eq!(
        sentence(&Error::from_raw_os_error(28)),
        "no space is left on the device: make room, or write elsewhere"
    );
}
