//! The command `lockshift`: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    lockshift::cli::main()
}
