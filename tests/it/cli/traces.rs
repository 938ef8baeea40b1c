//! Traces for the commands that read them.

use std::io::Write;

use tempfile::NamedTempFile;

/// A PHP client takes the lock of a token client. Neither releases.
pub(super) const BESIDE: &str = r#"OK
1700000000.000001 [0 10.0.0.1:50000] "SET" "lock" "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e" "NX" "PX" "30000"
1700000000.100000 [0 10.0.0.2:50000] "SETNX" "lock" "1700000010"
1700000000.100200 [0 10.0.0.2:50000] "GET" "lock"
1700000000.100400 [0 10.0.0.2:50000] "GETSET" "lock" "1700000010"
1700000000.100600 [0 10.0.0.2:50000] "EXPIRE" "lock" "10"
"#;

/// A file that holds this.
pub(super) fn file(trace: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(trace.as_bytes()).unwrap();
    file
}
