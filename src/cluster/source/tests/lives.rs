//! Seeded lives of the controller on a simulated disk: commands one after the other, some cut off on their way, power cuts
//! and orderly stops between any two, snapshots in the middle of everything; beside it a plain model of what was answered.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 60; `SIM_SEED=s` runs seed s alone.

use super::crash::Life;
use super::crash::driven;
use super::crash::start;
use super::topic;
use super::visible;
use crate::base::TopicId;
use crate::base::seeds;
use crate::cluster::command::AlterConfigs;
use crate::cluster::command::AlterResource;
use crate::cluster::command::ConfigChange;
use crate::cluster::command::ConfigOperation;
use crate::cluster::command::CreatePartitions;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::MorePartitions;
use crate::cluster::command::TopicToDelete;
use crate::config::ServerConfig;
use crate::io::Random;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;

const NAMES: u64 = 4;
const KEY: &str = "retention.ms";

/// A fault planted below the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// The disk does not sync.
    SkipSync,
    /// The last change is not in the log of the next life.
    LastChangeCut,
    /// A block of producer ids is given once more.
    BlockAgain,
}

/// Partitions and settings of each topic.
type State = BTreeMap<String, (i32, BTreeMap<String, String>)>;

#[derive(Clone, Debug)]
enum Act {
    Create(String, i32),
    Delete(String),
    Grow(String, i32),
    Set(String, Option<i64>),
    ProducerIds,
}

/// What clients know: the state that was answered, and what one change that was cut off may have made of it.
struct Model {
    sure: State,
    maybe: Option<State>,
    blocks: BTreeSet<i64>,
    last_block: i64,
}

impl Model {
    /// What a change makes of a state; `None` where it is refused.
    fn after(state: &State, act: &Act) -> Option<State> {
        let mut next = state.clone();
        match act {
            Act::Create(name, count) => {
                (!next.contains_key(name)).then(|| next.insert(name.clone(), (*count, BTreeMap::new())))?;
            }
            Act::Delete(name) => {
                next.remove(name)?;
            }
            Act::Grow(name, count) => {
                next.get_mut(name).filter(|known| known.0 < *count)?.0 = *count;
            }
            Act::Set(name, value) => {
                let settings = &mut next.get_mut(name)?.1;
                match value {
                    Some(value) => settings.insert(KEY.to_owned(), value.to_string()),
                    None => settings.remove(KEY),
                };
            }
            Act::ProducerIds => {}
        }
        Some(next)
    }
}

fn choose(random: &mut Random) -> Act {
    let name = format!("t{}", random.below(NAMES));
    let count = 1 + i32::try_from(random.below(5)).unwrap();
    match random.below(10) {
        0..4 => Act::Create(name, count),
        4..5 => Act::Delete(name),
        5..7 => Act::Grow(name, count),
        7..9 => Act::Set(name, (!random.one_in(3)).then(|| i64::from(count))),
        _ => Act::ProducerIds,
    }
}

/// Asks, and tells whether it was done and, for producer ids, which block came.
async fn ask(life: &Life, act: &Act) -> (bool, Option<i64>) {
    let controller = life.local.controller();
    let done = match act {
        Act::Create(name, count) => {
            let command = CreateTopics { topics: vec![topic(name, *count)], validate_only: false };
            controller.create_topics(command).await.unwrap().value.remove(0).result.is_ok()
        }
        Act::Delete(name) => {
            let topics = vec![TopicToDelete { name: Some(name.clone()), id: TopicId::ZERO }];
            controller.delete_topics(topics).await.unwrap().value.remove(0).result.is_ok()
        }
        Act::Grow(name, count) => {
            let topics = vec![MorePartitions { name: name.clone(), count: *count, assignments: None }];
            let command = CreatePartitions { topics, validate_only: false };
            controller.create_partitions(command).await.unwrap().value.remove(0).1.is_ok()
        }
        Act::Set(name, value) => {
            let operation = if value.is_some() { 0 } else { 1 };
            let value = value.map(|value| value.to_string());
            let change = ConfigChange::Each(vec![ConfigOperation { key: KEY.to_owned(), operation, value }]);
            let resources = vec![AlterResource { resource_type: 2, name: name.clone(), change }];
            let command = AlterConfigs { resources, validate_only: false };
            controller.alter_configs(command).await.unwrap().value.remove(0).result.is_ok()
        }
        Act::ProducerIds => {
            let block = controller.allocate_producer_ids().await.unwrap().value;
            return (true, Some(block.first.0));
        }
    };
    (done, None)
}

/// One change with its answer.
async fn change(life: &Life, model: &mut Model, act: &Act, seed: u64, plant: Option<Plant>) {
    let (done, block) = driven(&life.dirs, ask(life, act)).await;
    if let Some(block) = block {
        let again = plant == Some(Plant::BlockAgain) && model.last_block >= 0;
        let block = if again { model.last_block } else { block };
        assert!(model.blocks.insert(block), "seed {seed}: the block of {block} was given twice");
        model.last_block = block;
    }
    let after = Model::after(&model.sure, act);
    assert_eq!(done, after.is_some(), "seed {seed}: {act:?} on {:?}", model.sure);
    model.sure = after.unwrap_or_else(|| model.sure.clone());
    assert_eq!(visible(&life.local.publisher().current()), model.sure, "seed {seed}: {act:?} is not seen");
}

/// One change that the power cuts off somewhere on its way.
async fn cut_off(life: &Life, model: &mut Model, act: &Act, polls: u64) {
    let mut work = pin!(ask(life, act));
    for _ in 0..polls {
        tokio::select! {
            biased;
            _answer = &mut work => break,
            () = tokio::task::yield_now() => {
                life.dirs.drive_disks();
            }
        }
    }
    // It may have been done, answered or not: the clients of this life are gone.
    model.maybe = Model::after(&model.sure, act);
}

/// Takes the last batch out of the metadata log.
fn cut_last_change(disk: &SimDisk) {
    let logs = disk.files().into_iter().filter(|(path, _)| {
        path.to_string_lossy().contains("__cluster_metadata-0/")
            && path.extension().is_some_and(|end| end == "log")
    });
    let Some((path, bytes)) = logs.max() else { return };
    let last = crate::record::walk(&bytes).filter_map(Result::ok).last().map(|(at, _)| at);
    if let Some(at) = last {
        disk.damage(&path, |bytes| bytes.truncate(at));
    }
}

async fn lives(seed: u64, plant: Option<Plant>) {
    let mut random = Random::seeded(seed ^ 0xc0);
    let clock = SimClock::new();
    let disk = SimDisk::new(seed, clock.clone());
    let between = (200 + random.below(2_000)).to_string();
    let set = BTreeMap::from([
        ("log.dirs".to_owned(), "/data".to_owned()),
        ("metadata.log.max.record.bytes.between.snapshots".to_owned(), between),
        ("metadata.max.retention.bytes".to_owned(), (1 + random.below(8_000)).to_string()),
    ]);
    let config = Arc::new(ServerConfig::new(&set, "machine").unwrap());
    let mut model = Model { sure: State::new(), maybe: None, blocks: BTreeSet::new(), last_block: -1 };
    for _ in 0..5 {
        let life = start(&disk, &clock, &config, plant == Some(Plant::SkipSync)).await;
        let found = visible(&life.local.publisher().current());
        if model.maybe.take().as_ref() == Some(&found) {
            model.sure = found;
        } else {
            assert_eq!(found, model.sure, "seed {seed}: after a start");
        }
        for _ in 0..random.below(8) {
            let act = choose(&mut random);
            change(&life, &mut model, &act, seed, plant).await;
        }
        if random.one_in(3) {
            life.shutdown.trigger();
            driven(&life.dirs, life.local.ended()).await;
            life.dirs.close(1);
        } else {
            let act = choose(&mut random);
            cut_off(&life, &mut model, &act, random.below(12)).await;
            disk.crash();
            life.shutdown.trigger();
            drop(life);
        }
        if plant == Some(Plant::LastChangeCut) {
            cut_last_change(&disk);
        }
    }
}

fn run(seed: u64, plant: Option<Plant>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(lives(seed, plant));
}

#[test]
fn no_seed_takes_an_answered_change_back() {
    seeds::run("the controller", 60, |seed| run(seed, None));
}

#[test]
fn each_fault_planted_below_the_controller_is_noticed() {
    for plant in [Plant::SkipSync, Plant::LastChangeCut, Plant::BlockAgain] {
        let noticed = seeds::notices(60, |seed| run(seed, Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}
