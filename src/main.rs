//! The command `lockshift`: everything it does is in the library.

use std::process::ExitCode;

/// An audit frees in one thread what another one has read, which the allocator of glibc is slow at.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lockshift::cli::main()
}
