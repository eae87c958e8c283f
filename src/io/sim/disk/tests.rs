//! What only the simulated disk does: lose, tear, fail, fill up, and all of it again for the same seed.

use crate::io::disk::Disk;
use crate::io::disk::File;
use crate::io::disk::Open;
use crate::io::durable;
use crate::io::ring::Ring;
use crate::io::ring::WriteOp;
use crate::io::sim::Fault;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::io;
use std::io::ErrorKind;
use std::path::Path;

fn disk(seed: u64) -> (SimDisk, Disk) {
    let sim = SimDisk::new(seed, SimClock::new());
    (sim.clone(), Disk::Sim(sim))
}

fn create(disk: &Disk, path: &str) -> File {
    disk.open(Path::new(path), Open::Create).unwrap()
}

/// A file whose name a crash does not take.
fn create_synced(disk: &Disk, path: &str) -> File {
    let file = create(disk, path);
    disk.sync_dir(Path::new(path).parent().unwrap()).unwrap();
    file
}

fn content(disk: &Disk, path: &str) -> Option<Vec<u8>> {
    match disk.read(Path::new(path), 1 << 20) {
        Ok(content) => Some(content),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound);
            None
        }
    }
}

#[test]
fn a_crash_keeps_what_is_synced_with_its_name() {
    for seed in 0..100 {
        let (sim, disk) = disk(seed);
        durable::create_dir(&disk, Path::new("/data/topic-0")).unwrap();
        let file = create_synced(&disk, "/data/topic-0/log");
        file.write_at(b"kept", 0).unwrap();
        file.sync_data().unwrap();
        file.write_at(b"maybe", 4).unwrap();
        sim.crash();
        let found = content(&disk, "/data/topic-0/log").expect("the name was synced");
        assert_eq!(found[..4], *b"kept", "seed {seed}");
        assert!(file.write_at(b"x", 0).is_err(), "a file opened before the crash is dead");
    }
}

#[test]
fn a_crash_may_lose_a_name_whose_folder_was_not_synced_though_the_file_was() {
    let fates: BTreeSet<bool> = (0..100)
        .map(|seed| {
            let (sim, disk) = disk(seed);
            let file = create(&disk, "/file");
            file.write_at(b"content", 0).unwrap();
            file.sync_all().unwrap();
            sim.crash();
            content(&disk, "/file").is_some()
        })
        .collect();
    assert_eq!(fates.len(), 2, "both fates happen");
}

#[test]
fn atomic_writes_leave_the_old_or_the_new_after_a_cut_at_every_operation() {
    let mut seen = BTreeSet::new();
    for seed in 0..40 {
        for cut in 0..12 {
            let (sim, disk) = disk(seed);
            let path = Path::new("/checkpoint");
            durable::write_atomically(&disk, path, b"old").unwrap();
            sim.fail_at(sim.operations() + cut, Fault::PowerCut);
            let done = durable::write_atomically(&disk, path, b"new").is_ok();
            sim.clear_faults();
            sim.crash();
            let found = content(&disk, "/checkpoint").expect("never without a file");
            assert!(found == b"old" || found == b"new", "seed {seed} cut {cut}: {found:?}");
            assert!(!done || found == b"new", "seed {seed} cut {cut}: it said it was done");
            seen.insert((done, found));
        }
    }
    assert_eq!(seen.len(), 3, "old, new unannounced and new: {seen:?}");
}

#[test]
fn a_rename_is_seen_whole_or_not_at_all() {
    for seed in 0..100 {
        let (sim, disk) = disk(seed);
        durable::create_dir(&disk, Path::new("/a")).unwrap();
        durable::create_dir(&disk, Path::new("/b")).unwrap();
        create(&disk, "/a/x");
        disk.sync_dir(Path::new("/a")).unwrap();
        disk.rename(Path::new("/a/x"), Path::new("/b/y")).unwrap();
        if seed % 2 == 0 {
            disk.sync_dir(Path::new("/b")).unwrap();
        }
        sim.crash();
        let (before, after) = (content(&disk, "/a/x").is_some(), content(&disk, "/b/y").is_some());
        assert!(before != after, "seed {seed}: exactly one name");
        assert!(seed % 2 == 1 || after, "seed {seed}: synced");
    }
}

#[test]
fn kill_keeps_all_that_was_written_and_frees_the_lock() {
    let (sim, disk) = disk(1);
    let held = disk.lock(Path::new("/")).unwrap();
    assert!(held.is_some() && disk.lock(Path::new("/")).unwrap().is_none());
    create(&disk, "/file").write_at(b"unsynced", 0).unwrap();
    sim.kill_process();
    assert_eq!(content(&disk, "/file").unwrap(), b"unsynced");
    let next = disk.lock(Path::new("/")).unwrap();
    drop(held);
    assert!(next.is_some() && disk.lock(Path::new("/")).unwrap().is_none(), "a dead holder frees nothing");
}

#[test]
fn faults_strike_the_operation_they_are_set_for() {
    let (sim, disk) = disk(7);
    let file = create(&disk, "/file");
    sim.fail_at(sim.operations() + 1, Fault::Device);
    file.write_at(b"first", 0).unwrap();
    let error = file.write_at(b"second", 5).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    assert_eq!(file.len().unwrap(), 5, "nothing was done");
    sim.fail_at(sim.operations(), Fault::NoSpace);
    assert_eq!(file.write_at(&[1; 100], 5).unwrap_err().kind(), ErrorKind::StorageFull);
    let length = file.len().unwrap();
    assert!((5..=105).contains(&length), "a part is done: {length}");
    sim.fail_at(sim.operations(), Fault::FailedSync);
    assert!(file.sync_data().is_err());
    file.sync_data().unwrap();
    sim.fail_at(sim.operations(), Fault::Device);
    assert!(disk.stat(Path::new("/file")).is_err());
}

#[test]
fn a_failed_sync_loses_data_that_a_later_good_sync_does_not_bring_back() {
    let lost = (0..50).filter(|seed| {
        let (sim, disk) = disk(*seed);
        let file = create_synced(&disk, "/file");
        file.write_at(b"promise", 0).unwrap();
        sim.fail_at(sim.operations(), Fault::FailedSync);
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
        assert_eq!(content(&disk, "/file").unwrap(), b"promise", "reads show it");
        sim.crash();
        content(&disk, "/file").unwrap() != b"promise"
    });
    assert!(lost.count() > 10);
}

#[test]
fn a_full_disk_refuses_growth_and_takes_it_again_when_there_is_room() {
    let (sim, disk) = disk(1);
    sim.set_capacity(1000);
    let file = create(&disk, "/a");
    file.write_at(&[1; 900], 0).unwrap();
    let other = create(&disk, "/b");
    let error = other.write_at(&[2; 200], 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(other.len().unwrap(), 100, "what fitted is there");
    assert_eq!(disk.space(Path::new("/")).unwrap().usable, 0);
    file.write_at(&[3; 900], 0).unwrap();
    assert!(file.set_len(2000).is_err());
    disk.remove_file(Path::new("/b")).unwrap();
    file.write_at(&[4; 100], 900).unwrap();
}

#[test]
fn the_same_seed_gives_the_same_outcome_and_the_same_trace() {
    let run = |seed| {
        let (sim, disk) = disk(seed);
        let mut ring = Ring::probe(&disk, true);
        let mut outcomes = Vec::new();
        for round in 0..20u8 {
            let op = |name: String| WriteOp {
                file: create(&disk, &name),
                position: u64::from(round) * 700,
                parts: vec![Bytes::from(vec![round; 700])],
                sync: round % 3 == 0,
            };
            if round == 13 {
                sim.fail_at(sim.operations() + 7, Fault::ShortWrite);
            }
            let done = ring.run((0..5).map(|number| op(format!("/{number}"))).collect());
            outcomes.push(done.iter().map(io::Result::is_ok).collect::<Vec<_>>());
            if round % 6 == 5 {
                sim.crash();
            }
        }
        let files: Vec<_> = (0..5).map(|number| content(&disk, &format!("/{number}"))).collect();
        (outcomes, files, sim.trace())
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5).2, run(6).2);
}
