//! Every decoder of outside bytes over the inputs that fuzzing kept: the seeds, what reached new code, and what once
//! made a target fail. `fuzz/run` goes on from them.
//!
//! One test in a process of its own: the memory that a target holds is counted for the whole process.

#![allow(unreachable_pub, unused_imports, dead_code, reason = "the fuzz crate shows these to its binaries")]
#![allow(unsafe_code, reason = "an allocator that counts has to implement an unsafe trait")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails where it stands")]

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use std::path::Path;

/// The files of a folder; none when there is no folder.
fn inputs(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut inputs: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).unwrap()))
        .collect();
    inputs.sort();
    inputs
}

#[test]
fn every_kept_input_passes_its_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    if std::env::var("DOHLE_BLESS").is_ok() {
        let (count, bytes) = fuzz::seeds::write(&folder.join("corpus"));
        println!("{count} seeds, {bytes} bytes");
    }
    let mut failed = Vec::new();
    for target in fuzz::TARGETS {
        let kept = inputs(&folder.join("corpus").join(target.name));
        assert!(kept.len() > 3, "the corpus of {} is there", target.name);
        for (path, bytes) in kept.into_iter().chain(inputs(&folder.join("crashers").join(target.name))) {
            if std::panic::catch_unwind(|| fuzz::run(target.name, &bytes)).is_err() {
                failed.push(path);
            }
        }
    }
    // The memory is counted: a target that holds too much is noticed.
    let greedy =
        fuzz::Target { name: "greedy", run: |_| drop(Vec::<u8>::with_capacity(1 << 21)), extra_heap: 0 };
    assert!(std::panic::catch_unwind(|| fuzz::check(&greedy, b"small")).is_err());
    assert!(failed.is_empty(), "targets fail on {failed:#?}");
}
