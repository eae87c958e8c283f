//! Damage behind everybody's back: bits flip, pages are zeroed, files are cut, swapped or gone, of every kind of file
//! (R7 of `docs/reliability.md`). Whatever a client is given as good data afterwards is what was written; what is
//! missing is reported.
//!
//! `SIM_DAMAGES=n` makes n damages instead of 250; `SIM_DAMAGE=n` makes damage n alone and shows the log lines.

use crate::history::Promise;
use crate::node::check::Seen;
use crate::node::check::Unread;
use crate::node::lines;
use crate::node::machine::Machine;
use crate::node::model::Model;
use crate::node::requests as ask;
use crate::node::world::World;
use dohle::io::Random;
use dohle::io::sim::SimDisk;
use dohle::record::walk;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// What is done to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// One bit is another.
    Flip { position: usize, bit: u8 },
    /// Up to 4 KiB are zeros.
    Zero { position: usize, length: usize },
    /// The end is gone.
    Cut { length: usize },
    /// The file is gone.
    Gone,
    /// Its bytes and another file's have changed places.
    Swap { other: PathBuf },
    /// Bytes of somebody else are in the middle.
    Foreign { position: usize, length: usize },
}

/// What became of a damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The node did not start, and said why.
    NoStart,
    /// A client got an error, or an answer it refuses.
    Refused,
    /// All is there; a log line tells of the damage.
    Told,
    /// Something is missing, and a log line tells.
    MissingAndTold,
    /// All is there and nobody noticed: the file is made anew, or was not needed.
    Harmless,
}

/// A folder with everything in it, and what clients know of it.
struct Original {
    disk: SimDisk,
    model: Model,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// A node that has lived: several segments, closed and open, snapshots, offsets, deleted records. Ended in good order,
/// or killed.
fn original(seed: u64, is_clean: bool) -> Original {
    let mut world = World::new(seed);
    world.start_and_check();
    let small = [("internal.segment.bytes", "4000")];
    world.create("t0", 2, &small);
    world.create("t1", 1, &small);
    for round in 0..6 {
        for (topic, partition) in [("t0", 0), ("t0", 1), ("t1", 0), ("t0", 0)] {
            world.produce(topic, partition, -1, 2, 500);
        }
        world.commit_offset("readers", "t0", 0, 10 + round);
        world.commit_offset("others", "t1", 0, 20 + round);
        world.set("t0", 1_000_000 + round);
    }
    world.delete_records_before("t0", 1, 3);
    world.idle(130);
    for round in 0..4 {
        world.produce("t0", 0, -1, 3, 300);
        world.produce("t1", 0, -1, 1, 100);
        world.set("t1", 2_000_000 + round);
    }
    if is_clean {
        world.machine.stop();
    } else {
        world.machine.kill();
    }
    let files = world.machine.disk.files();
    let files = files.into_iter().filter(|(path, _)| !path.ends_with(".lock")).collect();
    Original { disk: world.machine.disk.clone(), model: world.model.clone(), files }
}

/// A damage to a file: each kind of file as likely as any other; with `heads` only the first bytes of stored batches.
fn choose(original: &Original, random: &mut Random, heads: bool) -> (PathBuf, Damage) {
    let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, (path, _)) in original.files.iter().enumerate() {
        kinds.entry(kind(path)).or_default().push(number);
    }
    if heads {
        kinds.retain(|kind, _| kind == "log");
    }
    let mut below = |count: usize| usize::try_from(random.below(u64::try_from(count).unwrap())).unwrap();
    let kind = below(kinds.len());
    let of_kind = kinds.values().nth(kind).unwrap();
    let (path, bytes) = &original.files[of_kind[below(of_kind.len())]];
    let length = bytes.len();
    let starts: Vec<usize> = walk(bytes).map_while(Result::ok).map(|(at, _)| at).collect();
    let bit = u8::try_from(below(8)).unwrap();
    let damage = match below(8) {
        // A batch's offset is not under its checksum.
        kind if !starts.is_empty() && is_log(path) && (kind < 2 || heads) => {
            Damage::Flip { position: starts[below(starts.len())] + below(8), bit }
        }
        0..3 if length > 0 => Damage::Flip { position: below(length), bit },
        3 if length > 0 => Damage::Zero { position: below(length), length: 1 + below(4096) },
        4 if length > 0 => Damage::Cut { length: below(length) },
        5 => {
            // Nothing in a segment says which partition it belongs to: only its own others are told from it.
            let is_other = |other: &&PathBuf| !is_log(path) || other.parent() == path.parent();
            let others = of_kind.iter().map(|number| &original.files[*number].0).filter(is_other);
            let others: Vec<&PathBuf> = others.collect();
            Damage::Swap { other: others[below(others.len())].clone() }
        }
        6 if length > 0 => Damage::Foreign { position: below(length), length: 1 + below(512) },
        _ => Damage::Gone,
    };
    (path.clone(), damage)
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "log")
}

/// The kind of a file: its ending, or its name; files of the cluster's own log and of offsets are kinds of their own.
fn kind(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    let folder = path.parent().unwrap().file_name().and_then(|name| name.to_str()).unwrap_or("");
    let ending = match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending @ ("log" | "index" | "timeindex" | "snapshot" | "checkpoint" | "txnindex")) => ending,
        _ => name,
    };
    match folder {
        "__cluster_metadata-0" | "__consumer_offsets-0" => format!("{folder}/{ending}"),
        _ => ending.to_owned(),
    }
}

fn apply(disk: &SimDisk, path: &Path, damage: &Damage, random: &mut Random) {
    match damage {
        Damage::Flip { position, bit } => disk.damage(path, |bytes| bytes[*position] ^= 1 << bit),
        Damage::Zero { position, length } => {
            disk.damage(path, |bytes| {
                bytes.iter_mut().skip(*position).take(*length).for_each(|byte| *byte = 0)
            });
        }
        Damage::Cut { length } => disk.damage(path, |bytes| bytes.truncate(*length)),
        Damage::Gone => disk.lose(path),
        Damage::Swap { other } => {
            let files: BTreeMap<PathBuf, Vec<u8>> = disk.files().into_iter().collect();
            let (own, theirs) = (files[path].clone(), files[other].clone());
            disk.damage(path, |bytes| *bytes = theirs);
            disk.damage(other, |bytes| *bytes = own);
        }
        Damage::Foreign { position, length } => disk.damage(path, |bytes| {
            for byte in bytes.iter_mut().skip(*position).take(*length) {
                *byte = u8::try_from(random.below(256)).unwrap();
            }
        }),
    }
}

/// One damage to a copy of the folder, a start, and a look at everything.
fn strike(original: &Original, seed: u64, plant: Plant) -> (String, Outcome) {
    let mut random = Random::seeded(seed);
    let (path, damage) = choose(original, &mut random, plant == Plant::Unproven);
    let clock = dohle::io::sim::SimClock::starting_at(dohle::base::Timestamp(1_735_689_600_000 + 3_600_000));
    let disk = original.disk.copy(seed, clock.clone());
    apply(&disk, &path, &damage, &mut random);
    let told = lines::Lines::begin();
    let machine = Machine::with(seed, disk, clock);
    machine.faults.serve_unproven.store(plant == Plant::Unproven, Ordering::Relaxed);
    let mut world = World::on(machine, seed);
    world.model = original.model.clone();
    let what = format!("{} {damage:?}", path.display());
    if crate::number("SIM_DAMAGE").is_some() {
        println!("{what}");
    }
    let outcome = match world.machine.start() {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Outcome::NoStart
        }
        Ok(()) => {
            let outcome = world.look(plant, &told, &what);
            world.machine.stop();
            outcome
        }
    };
    (kind(&path), outcome)
}

impl World {
    /// Compares what clients are given with what was written.
    fn look(&mut self, plant: Plant, told: &lines::Lines, what: &str) -> Outcome {
        let (mut refused, mut missing) = (false, Vec::new());
        let there: Vec<String> = match self.machine.ask(&ask::metadata(), ask::METADATA) {
            Ok(answer) => answer
                .topics
                .iter()
                .filter_map(|topic| topic.name.clone())
                .map(|name| name.to_string())
                .collect(),
            Err(_) => Vec::new(),
        };
        for (name, index) in self.partitions() {
            if !there.contains(&name) {
                missing.push(format!("topic {name}"));
                continue;
            }
            match self.read(&name, index) {
                Ok(seen) => {
                    refused |= !seen.refused.is_empty();
                    missing.extend(self.lacks(&name, index, &seen, what));
                }
                Err(Unread::Code(code)) => {
                    assert!([56, 1, 2, 3, 5, 6, 100].contains(&code), "{what}: {name}-{index}: {code}");
                    refused = true;
                }
                Err(Unread::None(_)) => refused = true,
            }
        }
        for (key, known) in self.model.offsets.clone() {
            match self.committed_or_error(&key) {
                Ok(offset) if known.may_be(&offset) => {}
                Ok(offset) => missing.push(format!("offset of {key:?}: {offset}")),
                Err(()) => refused = true,
            }
        }
        for (name, topic) in self.model.topics.clone() {
            let request = ask::describe_config(&name, "retention.bytes");
            let Ok(answer) = self.machine.ask(&request, ask::DESCRIBE_CONFIGS) else { continue };
            let value = answer.results[0].configs.first().and_then(|config| config.value.clone());
            match value.and_then(|value| value.parse().ok()) {
                Some(value) if topic.setting.may_be(&value) => {}
                value => missing.push(format!("setting of {name}: {value:?}")),
            }
        }
        let lines = if plant == Plant::Silence { Vec::new() } else { told.warnings() };
        match (refused, missing.is_empty(), lines.is_empty()) {
            (true, true, _) => Outcome::Refused,
            (_, false, false) => Outcome::MissingAndTold,
            (_, false, true) => panic!("{what}: {missing:?} missing, and no line tells"),
            (false, true, false) => Outcome::Told,
            (false, true, true) => Outcome::Harmless,
        }
    }

    /// What a partition lacks of what was written. What it has must be what was written.
    fn lacks(&mut self, name: &str, index: i32, seen: &Seen, what: &str) -> Vec<String> {
        let partition = &*self.partition(name, index);
        for batch in &seen.batches {
            let known = partition.batches.iter().find(|known| known.value == batch.value);
            let known =
                known.unwrap_or_else(|| panic!("{what}: {name}-{index}: {batch:?} served and never written"));
            assert_eq!(
                (known.base, known.count),
                (batch.base, batch.count),
                "{what}: {name}-{index}: served wrong"
            );
        }
        let in_order = seen.batches.windows(2).all(|pair| pair[0].end() <= pair[1].base);
        assert!(in_order, "{what}: {name}-{index}: served twice or out of order");
        let lacking = partition.batches.iter().filter(|batch| {
            batch.promise > Promise::None
                && batch.end() > partition.start_max
                && !seen.refused.iter().any(|refused| batch.base >= *refused)
                && !seen.batches.iter().any(|there| there.value == batch.value)
        });
        lacking.map(|batch| format!("{name}-{index} at {}", batch.base)).collect()
    }

    fn committed_or_error(&mut self, key: &(&'static str, String, i32)) -> Result<i64, ()> {
        let request = ask::committed(key.0, &key.1, key.2);
        for _ in 0..20 {
            let answer = self.machine.ask(&request, ask::OFFSET_FETCH).map_err(|_| ())?;
            match (answer.error_code, answer.topics.first().and_then(|topic| topic.partitions.first())) {
                (0, Some(partition)) if partition.error_code == 0 => return Ok(partition.committed_offset),
                (14..=16, _) => self.idle(1),
                _ => return Err(()),
            }
        }
        Err(())
    }
}

/// What a test breaks, so that the check must notice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// The node serves what it found without a look at it.
    Unproven,
    /// The node's log lines are hidden from the check.
    Silence,
}

/// Makes so many damages; those that break a promise, by their numbers.
fn run_all(count: u64, plant: Plant) -> Vec<u64> {
    let originals = [original(5, true), original(6, false)];
    let alone = crate::number("SIM_DAMAGE");
    let mut outcomes: BTreeMap<(String, Outcome), u64> = BTreeMap::new();
    let mut broken = Vec::new();
    for seed in alone.map_or(0..count, |alone| alone..alone + 1) {
        let original = &originals[usize::try_from(seed % 2).unwrap()];
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| strike(original, seed, plant)));
        match outcome {
            Ok(outcome) => *outcomes.entry(outcome).or_default() += 1,
            Err(_) => broken.push(seed),
        }
    }
    let mut totals: BTreeMap<Outcome, u64> = BTreeMap::new();
    for ((kind, outcome), count) in &outcomes {
        println!("{kind:48} {outcome:?}: {count}");
        *totals.entry(*outcome).or_default() += count;
    }
    println!("{totals:?}");
    broken
}

#[test]
fn no_damage_is_served_as_good_data() {
    let broken = run_all(crate::number("SIM_DAMAGES").unwrap_or(250), Plant::Nothing);
    assert!(broken.is_empty(), "replay with SIM_DAMAGE=n, n of {broken:?}");
}

#[test]
fn good_bytes_at_a_wrong_offset_are_noticed() {
    assert!(!run_all(50, Plant::Unproven).is_empty());
}

#[test]
fn what_is_missing_without_a_word_is_noticed() {
    assert!(!run_all(100, Plant::Silence).is_empty());
}
