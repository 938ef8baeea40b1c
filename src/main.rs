//! The command `lockshift`: everything it does is in the library.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// An audit frees in one thread what another one has read, which the system's allocators are slow at.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    lockshift::cli::main()
}
