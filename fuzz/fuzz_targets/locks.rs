//! The target `locks` of `tests/fuzz`, for cargo-fuzz.

#![no_main]
#![allow(dead_code)] // each binary runs one of the targets

#[path = "../../tests/fuzz/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|input: &[u8]| targets::locks::locks(input));
