//! One fault at every call of the disk: a fixed script of requests runs again and again, and each time the next
//! operation fails, in every way it can (R5 and R6 of `docs/reliability.md`).
//!
//! Every 41st operation by default, each fault beginning at another; `SIM_EVERY=1` takes all of them, and
//! `SIM_FROM=n` begins at operation n.

use crate::history::Promise;
use crate::node::world::World;
use dohle::io::sim::Fault;
use dohle::log::Faults;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Small segments, so that the script rolls.
const SMALL: [(&str, &str); 1] = [("internal.segment.bytes", "4000")];

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug)]
struct Case {
    fault: Fault,
    /// What a power cut tears writes into.
    sector: usize,
    operation: u64,
}

impl World {
    /// Topics made and deleted, segments rolled, records and offsets written, deleted and looked at, settings changed
    /// until the metadata log takes snapshots, time for every kind of upkeep, a stop in good order. Ends early when
    /// the power goes.
    fn script(&mut self) {
        self.create("t0", 2, &SMALL);
        self.create("t1", 1, &SMALL);
        for round in 0..3 {
            for (topic, partition, acks) in [("t0", 0, -1), ("t0", 1, 1), ("t1", 0, -1), ("t0", 0, 1)] {
                if self.can("t0") && self.can(topic) {
                    self.produce(topic, partition, acks, 2, 700);
                }
            }
            if self.can("t0") {
                self.commit_offset("readers", "t0", 0, 10 + round);
                self.set("t0", 1_000_000 + round);
            }
        }
        self.idle_if_alive(70);
        if self.can("t0") {
            if self.partition("t0", 0).batches.iter().any(|batch| batch.end() > 3) {
                self.delete_records_before("t0", 0, 3);
            }
            for round in 0..12 {
                self.set("t0", 2_000_000 + round);
            }
        }
        self.idle_if_alive(70);
        if self.can("t1") {
            self.delete("t1");
        }
        self.idle_if_alive(70);
        for partition in [0, 1] {
            if self.can("t0") {
                self.produce("t0", partition, -1, 3, 500);
            }
        }
        // Long enough for logs to cool; then one is written to again.
        self.idle_if_alive(400);
        if self.can("t0") {
            self.produce("t0", 1, -1, 1, 100);
            self.commit_offset("others", "t0", 1, 77);
        }
    }

    fn can(&self, topic: &str) -> bool {
        let sure = |topic: &crate::node::model::Topic| topic.presence == crate::node::model::Presence::Sure;
        self.machine.is_running() && !self.machine.is_dark() && self.model.topics.get(topic).is_some_and(sure)
    }

    fn idle_if_alive(&mut self, seconds: u64) {
        if !self.machine.is_dark() {
            self.idle(seconds);
        }
    }

    /// The node works: every partition takes records, and offsets can be committed.
    pub(crate) fn work(&mut self) {
        for (name, index) in self.partitions() {
            let before = self.partition(&name, index).batches.len();
            self.produce(&name, index, -1, 1, 50);
            let after = self.partition(&name, index).batches.len();
            assert_eq!(after, before + 1, "{name}-{index} takes no records any more");
            self.commit_offset("readers", &name, index, 500);
        }
    }
}

/// Runs the script with one fault; the numbers of the first operation of the script and of the first after it.
fn run(case: Option<Case>, plant: fn(&Faults)) -> (u64, u64) {
    let seed = case.map_or(1, |case| case.operation * 31 + u64::try_from(case.sector).unwrap());
    let mut world = World::new(seed);
    plant(&world.machine.faults);
    if let Some(case) = case {
        world.machine.disk.set_sector(case.sector);
        world.machine.disk.fail_at(case.operation, case.fault);
    }
    if world.machine.start().is_err() {
        assert!(world.is_disturbed(), "the first start fails");
        world.end_by_power_cut();
        world.start_and_check();
    }
    let first = world.machine.disk.operations();
    world.script();
    fenced(&world);
    if !world.machine.is_dark() {
        world.look_at_all();
        world.check_offsets();
        recovers_when_there_is_room(&mut world);
        world.machine.stop();
        world.model.forget_promises_below(Promise::Written);
    }
    let end = world.machine.disk.operations();
    world.end_by_power_cut();
    world.start_and_check();
    world.work();
    world.machine.stop();
    world.start_and_check();
    (first, end)
}

/// A sync of records that failed takes its directory offline: what follows in it is refused, not confirmed.
fn fenced(world: &World) {
    for strike in world.strikes_of_this_life() {
        let of_records = strike.path.extension().is_some_and(|kind| kind == "log");
        if strike.verb == "sync" && of_records && strike.fault != Fault::Hang && !world.machine.is_dark() {
            assert!(world.machine.online_directories() < 2, "{strike:?}, and the directory serves on");
        }
    }
}

/// A full device leaves the node running: once there is room, everything works again without a new start.
fn recovers_when_there_is_room(world: &mut World) {
    let strikes = world.machine.disk.strikes();
    let only_full = strikes.iter().all(|strike| strike.fault == Fault::NoSpace && strike.verb == "write");
    if !strikes.is_empty() && only_full {
        assert_eq!(
            world.machine.online_directories(),
            2,
            "a full device took a directory offline: {strikes:?}"
        );
        world.work();
    }
}

const FAULTS: [Fault; 5] = [Fault::Device, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync, Fault::Hang];

/// Runs every case that is chosen; the cases by what they struck.
fn run_all(cases: &[(Fault, usize)], every: u64, plant: fn(&Faults)) -> BTreeMap<String, u64> {
    let (_, end) = run(None, plant);
    let mut struck = BTreeMap::new();
    for (number, (fault, sector)) in cases.iter().enumerate() {
        let from = crate::number("SIM_FROM").unwrap_or_else(|| u64::try_from(number * 7).unwrap() % every);
        for operation in (from..end).step_by(usize::try_from(every).unwrap()) {
            let case = Case { fault: *fault, sector: *sector, operation };
            let outcome = std::panic::catch_unwind(|| run(Some(case), plant));
            if let Err(panic) = outcome {
                println!("{case:?} fails");
                std::panic::resume_unwind(panic);
            }
            *struck.entry(format!("{fault:?}")).or_default() += 1;
        }
    }
    struck
}

fn all_faults() -> Vec<(Fault, usize)> {
    FAULTS.iter().map(|fault| (*fault, 512)).collect()
}

/// R6: EIO, ENOSPC, a short write, a failed sync, a hang.
#[test]
fn a_fault_at_any_call_of_the_disk_breaks_no_promise() {
    let every = crate::number("SIM_EVERY").unwrap_or(41);
    println!("{:?}", run_all(&all_faults(), every, |_| {}));
}

/// R5: the power goes at any operation, and writes are torn at 512 bytes or 4 KiB.
#[test]
fn a_power_cut_at_any_call_of_the_disk_breaks_no_promise() {
    let every = crate::number("SIM_EVERY").unwrap_or(41);
    println!("{:?}", run_all(&[(Fault::PowerCut, 512), (Fault::PowerCut, 4096)], every, |_| {}));
}

fn is_noticed(cases: &[(Fault, usize)], plant: fn(&Faults)) -> bool {
    std::panic::catch_unwind(|| run_all(cases, 7, plant)).is_err()
}

#[test]
fn a_skipped_sync_is_noticed_by_a_power_cut() {
    assert!(is_noticed(&[(Fault::PowerCut, 512)], |faults| faults.skip_sync.store(true, Ordering::Relaxed)));
}

#[test]
fn a_failed_sync_that_is_ignored_is_noticed() {
    let ignore: fn(&Faults) = |faults| faults.ignore_failed_sync.store(true, Ordering::Relaxed);
    assert!(is_noticed(&[(Fault::FailedSync, 512)], ignore));
}

/// One case alone, told step by step: `SIM_FAULT=ShortWrite SIM_FROM=752 cargo test --test sim one_fault`.
#[test]
fn one_fault() {
    let Ok(named) = std::env::var("SIM_FAULT") else { return };
    tracing_subscriber::fmt().with_test_writer().with_max_level(tracing::Level::DEBUG).try_init().ok();
    let fault = FAULTS.into_iter().find(|fault| format!("{fault:?}") == named).unwrap_or(Fault::PowerCut);
    let sector = usize::try_from(crate::number("SIM_SECTOR").unwrap_or(512)).unwrap();
    run(Some(Case { fault, sector, operation: crate::number("SIM_FROM").unwrap_or(0) }), |_| {});
}
