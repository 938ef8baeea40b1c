//! The command `lockshift`: everything it does is in the library.

use std::process::ExitCode;

/// An audit of nothing but locks takes a twentieth less processor time with it than with the allocator of glibc.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockshift::cli::main()
}
