//! The target `proxy` of `tests/fuzz`, for cargo-fuzz.

#![no_main]
#![allow(dead_code)] // each binary runs one of the targets

#[path = "../../tests/fuzz"]
mod fuzz {
    pub mod targets;
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::targets::proxy::proxy(input));
