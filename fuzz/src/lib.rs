//! Every decoder of bytes that come from outside, as targets for a fuzzer: from the network, from disk, from the
//! command line's files.
//!
//! A target is a plain function over bytes. `fuzz_targets/` gives each to libFuzzer, `tests/fuzz_corpus.rs` of the
//! broker's package plays the kept inputs. [`run`] fails when the target panics, and when it held more memory at once
//! than its budget.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a target fails where it stands")]
#![allow(clippy::indexing_slicing, clippy::string_slice, reason = "a target fails where it stands")]

mod heap;
mod input;
pub mod seeds;
mod targets;

pub use input::Input;
pub use targets::TARGETS;
pub use targets::Target;

/// Runs the target of this name over one input.
///
/// # Panics
/// As [`check`], and when no target has this name.
pub fn run(name: &str, bytes: &[u8]) {
    check(TARGETS.iter().find(|target| target.name == name).expect("a target of this name"), bytes);
}

/// Runs one target over one input, within its budget of memory.
///
/// # Panics
/// When the target finds a fault, or held more than the budget.
pub fn check(target: &Target, bytes: &[u8]) {
    if measure(target, bytes).is_none() {
        return;
    }
    // What is made once in a process and kept is no input's (tables, a regex's scratch): it is not made again.
    if let Some(Excess { taken, size }) = measure(target, bytes) {
        panic!("{}: {taken} bytes of heap for {size} bytes of input", target.name);
    }
}

/// More heap than the budget has.
struct Excess {
    taken: usize,
    size: usize,
}

fn measure(target: &Target, bytes: &[u8]) -> Option<Excess> {
    let mut input = Input::new(bytes);
    let (taken, ()) = heap::peak(|| (target.run)(&mut input));
    let size = input.size();
    let budget = size * HEAP_RATIO + HEAP_SLACK + input.allowed() + target.extra_heap;
    (taken > budget).then_some(Excess { taken, size })
}

/// Bytes of heap for each byte of input, and those that any input may need.
const HEAP_RATIO: usize = 4;
const HEAP_SLACK: usize = 1024 * 1024;
