//! See the target of this name in `src/targets.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| dohle_fuzz::run("patterns", input));
