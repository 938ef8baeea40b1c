//! Texts that are kept in files. `LOCKSHIFT_BLESS=1 cargo test` writes what is now, to be read in the diff before it is
//! committed.

use std::env;
use std::fs;
use std::path::Path;

/// Whether the files are written rather than compared.
pub(crate) fn is_renewed() -> bool {
    env::var_os("LOCKSHIFT_BLESS").is_some()
}

/// Panics unless the file, by its path from the root, holds exactly this; or writes it, where that was asked for.
pub(crate) fn golden(file: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if is_renewed() {
        fs::write(&path, actual).expect("the file can be written");
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let hint = "if the new text is better, run the test with LOCKSHIFT_BLESS=1";
    assert!(kept == actual, "{file} is not what it was ({hint}):\n{actual}\n--- in the file:\n{kept}");
}

/// Writes the part of a file between `<!-- NAME -->` and `<!-- end of NAME -->` anew: what was measured, at the caller's request.
pub(crate) fn write_part(file: &str, name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let kept = fs::read_to_string(&path).expect("the file can be read");
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (head, rest) = kept.split_once(&begin).expect("the file has the part");
    let (_, tail) = rest.split_once(&end).expect("the part has an end");
    fs::write(&path, format!("{head}{begin}{actual}{end}{tail}")).expect("the file can be written");
}
