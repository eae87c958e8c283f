//! Power cuts in the middle of changes: what was answered is there after the next start, what was not is there whole
//! or not at all.

use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::cluster::Image;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::NewTopic;
use crate::cluster::source::local::Local;
use crate::cluster::source::local::Opening;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::Disk;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use crate::io::task::Shutdown;
use crate::log::Dirs;
use crate::log::Faults;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const PARTITIONS: i32 = 3;

/// One life of the node: from a start to a power cut.
pub(super) struct Life {
    pub(super) dirs: Dirs,
    pub(super) local: Local,
    pub(super) shutdown: Shutdown,
}

/// Does the disk's work while something waits for it.
pub(super) async fn driven<T>(dirs: &Dirs, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::task::yield_now() => {
                dirs.drive_disks();
            }
        }
    }
}

pub(super) async fn start(
    disk: &SimDisk,
    clock: &SimClock,
    config: &Arc<ServerConfig>,
    skip_sync: bool,
) -> Life {
    let (disk, clock, shutdown) = (Disk::Sim(disk.clone()), Clock::Sim(clock.clone()), Shutdown::new());
    let faults = Arc::new(Faults::default());
    faults.skip_sync.store(skip_sync, Ordering::Relaxed);
    let dirs = Dirs::open_faulty(disk.clone(), clock.clone(), config.storage.clone(), faults).unwrap();
    let opening = Opening {
        config: Arc::clone(config),
        listeners: config.listeners.clone(),
        disk,
        clock,
        shutdown: shutdown.clone(),
    };
    let local = driven(&dirs, Local::open(&dirs, opening)).await.unwrap();
    Life { dirs, local, shutdown }
}

fn command(name: &str) -> CreateTopics {
    let topic = NewTopic {
        name: name.to_owned(),
        num_partitions: PARTITIONS,
        replication_factor: 1,
        assignments: Vec::new(),
        configs: vec![("retention.ms".to_owned(), Some("5".to_owned()))],
    };
    CreateTopics { topics: vec![topic], validate_only: false }
}

/// Each topic with its number of partitions and of settings.
fn seen(image: &Image) -> BTreeMap<String, (usize, usize)> {
    let of = |topic: &Arc<crate::cluster::Topic>| {
        let settings = image.topic_configs(&topic.name).len();
        (topic.name.to_string(), (topic.partitions.len(), settings))
    };
    image.topics().map(of).collect()
}

async fn lives(seed: u64) {
    let clock = SimClock::new();
    let disk = SimDisk::new(seed, clock.clone());
    let set = BTreeMap::from([
        ("log.dirs".to_owned(), "/data".to_owned()),
        // Snapshots are taken by the time of the test, in the middle of everything else.
        ("metadata.log.max.record.bytes.between.snapshots".to_owned(), (300 * (seed % 4 + 1)).to_string()),
    ]);
    let config = Arc::new(ServerConfig::new(&set, "machine").unwrap());
    let mut answered: Vec<String> = Vec::new();
    let mut epoch = LeaderEpoch(0);
    for life in 0..4 {
        let Life { dirs, local, shutdown } = start(&disk, &clock, &config, false).await;
        let image = local.publisher().current();
        assert!(image.epoch > epoch, "seed {seed}: epoch {} came twice", image.epoch);
        epoch = image.epoch;
        let found = seen(&image);
        for name in &answered {
            assert!(found.contains_key(name), "seed {seed}: {name} was answered and is gone");
        }
        assert!(found.values().all(|shape| *shape == (3, 1)), "seed {seed}: half a topic in {found:?}");
        assert!(image.topics().all(|topic| topic.partition(PartitionIndex(2)).is_some()));
        for number in 0..=seed % 5 {
            let name = format!("t{life}-{number}");
            driven(&dirs, local.controller().create_topics(command(&name))).await.unwrap();
            answered.push(name);
        }
        // One more, cut off somewhere on its way.
        let name = format!("late{life}");
        let patience = async {
            for _ in 0..seed % 7 {
                tokio::task::yield_now().await;
                dirs.drive_disks();
            }
        };
        tokio::select! {
            biased;
            created = local.controller().create_topics(command(&name)) => {
                created.unwrap();
                answered.push(name);
            }
            () = patience => {}
        }
        disk.crash();
        shutdown.trigger();
        drop((local, dirs));
    }
}

#[test]
fn power_cuts_lose_nothing_that_was_answered_and_leave_nothing_by_halves() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for seed in 0..100 {
        runtime.block_on(lives(seed));
    }
}
