//! The local source under random commands, restarts and failures, beside a plain model of what was answered.

mod crash;
mod lives;

use super::files::Folder;
use super::local::Local;
use super::local::Opening;
use super::local::Storage;
use super::snapshot;
use super::store::Memory;
use super::store::Store;
use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::OffsetAndEpoch;
use crate::base::PartitionIndex;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::cluster::Error;
use crate::cluster::Image;
use crate::cluster::command::AlterConfigs;
use crate::cluster::command::AlterResource;
use crate::cluster::command::ConfigChange;
use crate::cluster::command::ConfigOperation;
use crate::cluster::command::CreatePartitions;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::MorePartitions;
use crate::cluster::command::NewTopic;
use crate::cluster::command::TopicToDelete;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::Disk;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use crate::io::task::Shutdown;
use parking_lot::Mutex;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long a test waits for what must come.
const LONG: Duration = Duration::from_secs(60);

/// A machine whose node can be started again.
struct World {
    memory: Arc<Mutex<Memory>>,
    disk: Disk,
    clock: SimClock,
    config: Arc<ServerConfig>,
    /// The topics of partitions that lie on disk.
    found: Vec<TopicId>,
}

impl World {
    fn new(lines: &[(&str, &str)]) -> World {
        let clock = SimClock::new();
        let disk = Disk::Sim(SimDisk::new(7, clock.clone()));
        disk.create_dir_all(&folder()).unwrap();
        let set = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let config = Arc::new(ServerConfig::new(&set, "machine").unwrap());
        World { memory: Arc::default(), disk, clock, config, found: Vec::new() }
    }

    async fn try_start(&self, unclean: bool) -> Result<(Local, Shutdown), Error> {
        let shutdown = Shutdown::new();
        let opening = Opening {
            config: Arc::clone(&self.config),
            listeners: self.config.listeners.clone(),
            disk: self.disk.clone(),
            clock: Clock::Sim(self.clock.clone()),
            shutdown: shutdown.clone(),
        };
        let storage = Storage {
            cluster_id: "cluster".to_owned(),
            log_dirs: vec![Uuid::from_u128(100)],
            folder: folder(),
            unclean,
            found: self.found.clone(),
        };
        let local = Local::start(opening, storage, Store::Memory(Arc::clone(&self.memory))).await?;
        Ok((local, shutdown))
    }

    async fn start(&self, unclean: bool) -> (Local, Shutdown) {
        self.try_start(unclean).await.unwrap()
    }

    fn snapshots(&self) -> Vec<OffsetAndEpoch> {
        snapshot::list(&Folder::new(self.disk.clone(), folder())).unwrap()
    }
}

fn folder() -> PathBuf {
    PathBuf::from("/data/__cluster_metadata-0")
}

async fn stop(local: Local, shutdown: Shutdown) {
    shutdown.trigger();
    local.ended().await;
}

fn topic(name: &str, partitions: i32) -> NewTopic {
    NewTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: 1,
        assignments: Vec::new(),
        configs: Vec::new(),
    }
}

async fn create(local: &Local, name: &str, partitions: i32) -> bool {
    let command = CreateTopics { topics: vec![topic(name, partitions)], validate_only: false };
    local.controller().create_topics(command).await.unwrap().value[0].result.is_ok()
}

/// What users see of an image: the brokers and the offset change with each start.
fn visible(image: &Image) -> BTreeMap<String, (i32, BTreeMap<String, String>)> {
    let topics = image.topics().map(|topic| {
        let partitions = i32::try_from(topic.partitions.len()).unwrap();
        (topic.name.to_string(), (partitions, image.topic_configs(&topic.name).clone()))
    });
    topics.collect()
}

#[tokio::test]
async fn a_new_cluster_is_ready_and_formatted_for_kafka() {
    let world = World::new(&[]);
    let (local, _shutdown) = world.start(false).await;
    let image = local.publisher().current();
    assert!(image.is_active(BrokerId(1)));
    assert_eq!(image.metadata_version(), 33);
    assert_eq!(image.broker(BrokerId(1)).unwrap().endpoints[0].port, 9092);
    assert_eq!(world.snapshots(), [OffsetAndEpoch { offset: Offset(0), epoch: LeaderEpoch(0) }]);
    let state = world.disk.read(&folder().join("quorum-state"), 1 << 16).unwrap();
    assert!(String::from_utf8(state).unwrap().contains("\"leaderEpoch\":1,"));
}

#[tokio::test]
async fn producer_ids_never_come_twice_over_restarts() {
    let world = World::new(&[]);
    let mut firsts = Vec::new();
    for _ in 0..3 {
        let (local, shutdown) = world.start(true).await;
        for _ in 0..2 {
            firsts.push(local.controller().allocate_producer_ids().await.unwrap().value.first.0);
        }
        stop(local, shutdown).await;
    }
    assert_eq!(firsts, [0, 1000, 2000, 3000, 4000, 5000]);
}

#[tokio::test]
async fn only_an_unclean_stop_begins_new_leader_epochs() {
    let world = World::new(&[]);
    let (local, shutdown) = world.start(false).await;
    assert!(create(&local, "t", 2).await);
    stop(local, shutdown).await;
    let epoch = |local: &Local| {
        let image = local.publisher().current();
        image.partition("t", PartitionIndex(1)).map(|partition| (partition.leader, partition.leader_epoch))
    };
    let (local, shutdown) = world.start(false).await;
    assert_eq!(epoch(&local), Some((BrokerId(1), LeaderEpoch(0))));
    stop(local, shutdown).await;
    let (local, _shutdown) = world.start(true).await;
    assert_eq!(epoch(&local), Some((BrokerId(1), LeaderEpoch(1))));
}

#[tokio::test]
async fn a_start_knows_which_topics_the_log_tells_were_deleted() {
    let mut world = World::new(&[("metadata.log.max.record.bytes.between.snapshots", "1")]);
    let (local, shutdown) = world.start(false).await;
    assert!(create(&local, "gone", 1).await && create(&local, "kept", 1).await);
    let [id, kept] = ["gone", "kept"].map(|name| local.publisher().current().topic(name).unwrap().id);
    let topics = vec![TopicToDelete { name: Some("gone".to_owned()), id: TopicId::ZERO }];
    local.controller().delete_topics(topics).await.unwrap();
    assert!(local.deleted().is_empty(), "nothing was deleted before it was opened");
    stop(local, shutdown).await;
    assert!(!world.snapshots().is_empty(), "the image of the next start has no trace of the deletion");
    world.found = vec![id, kept, TopicId::random_from(crate::io::random::uuid), TopicId::METADATA];
    let (local, _shutdown) = world.start(true).await;
    assert_eq!(*local.deleted(), BTreeSet::from([id]));
}

#[tokio::test]
async fn a_clean_stop_leaves_the_broker_fenced_for_whoever_comes_next() {
    let world = World::new(&[]);
    let (local, shutdown) = world.start(false).await;
    assert!(create(&local, "t", 1).await);
    let seen = local.publisher().current();
    stop(local, shutdown).await;
    let mut replay = super::replay::Replay::of_log(Image::empty("cluster"));
    replay.batches(&Store::Memory(Arc::clone(&world.memory)).read(Offset(0), usize::MAX).unwrap()).unwrap();
    assert!(seen.is_active(BrokerId(1)));
    assert!(replay.image.broker(BrokerId(1)).unwrap().fenced);
    assert_eq!(replay.image.partition("t", PartitionIndex(0)).unwrap().leader, BrokerId(1));
}

#[tokio::test]
async fn a_log_that_kafka_formatted_keeps_its_features() {
    let world = World::new(&[]);
    let theirs = include_bytes!("../kafka-4.4.0-formatted.checkpoint");
    let formatted = OffsetAndEpoch { offset: Offset(0), epoch: LeaderEpoch(0) };
    Folder::new(world.disk.clone(), folder()).write(&snapshot::name(formatted), theirs).unwrap();
    for _ in 0..2 {
        let (local, shutdown) = world.start(false).await;
        let image = local.publisher().current();
        assert_eq!(image.features().get("group.version"), Some(&1));
        assert!(image.is_active(BrokerId(1)));
        stop(local, shutdown).await;
    }
}

#[tokio::test]
async fn an_answer_names_an_offset_whose_image_shows_the_change() {
    let world = World::new(&[]);
    let (local, _shutdown) = world.start(false).await;
    let command = CreateTopics { topics: vec![topic("t", 1)], validate_only: false };
    let applied = local.controller().create_topics(command).await.unwrap();
    let image = local.publisher().current();
    assert!(image.offset >= applied.offset);
    assert!(image.topic("t").is_some());
}

#[tokio::test]
async fn when_the_log_fails_nothing_is_seen_and_the_controller_stops() {
    let world = World::new(&[]);
    let (local, _shutdown) = world.start(false).await;
    assert!(create(&local, "before", 1).await);
    let image = local.publisher().current();
    world.memory.lock().broken = true;
    let command = CreateTopics { topics: vec![topic("lost", 1)], validate_only: false };
    let failed = local.controller().create_topics(command.clone()).await;
    assert!(matches!(failed, Err(Error::NotActive)));
    assert_eq!(local.publisher().current(), image);
    world.memory.lock().broken = false;
    assert!(matches!(local.controller().create_topics(command).await, Err(Error::NotActive)));
    let (local, _shutdown) = world.start(true).await;
    assert_eq!(visible(&local.publisher().current()).keys().collect::<Vec<_>>(), ["before"]);
}

#[tokio::test]
async fn a_full_disk_costs_only_the_changes_that_did_not_fit() {
    let world = World::new(&[]);
    let (local, shutdown) = world.start(false).await;
    world.memory.lock().full = true;
    let command = CreateTopics { topics: vec![topic("t", 1)], validate_only: false };
    assert!(matches!(local.controller().create_topics(command).await, Err(Error::NotActive)));
    assert_eq!(local.publisher().current().topic_count(), 0);
    world.memory.lock().full = false;
    assert!(create(&local, "t", 1).await);
    let before = local.publisher().current();
    stop(local, shutdown).await;
    let (local, _shutdown) = world.start(false).await;
    assert_eq!(visible(&local.publisher().current()), visible(&before));
}

#[tokio::test]
async fn snapshots_stand_for_the_log_before_them() {
    let world = World::new(&[
        ("metadata.log.max.record.bytes.between.snapshots", "400"),
        ("metadata.max.retention.bytes", "1"),
    ]);
    let (local, shutdown) = world.start(false).await;
    // While a snapshot is written no other one is begun, and a slow machine may take long.
    let grow = async {
        let mut number = 0;
        while number < 40 || world.memory.lock().start <= 0 {
            assert!(create(&local, &format!("t{number}"), 1).await);
            tokio::task::yield_now().await;
            number += 1;
        }
    };
    Clock::system().timeout(LONG, grow).await.expect("the log is trimmed in the end");
    let before = local.publisher().current();
    stop(local, shutdown).await;
    assert_eq!(world.snapshots().len(), 2);
    let (local, _shutdown) = world.start(false).await;
    assert_eq!(visible(&local.publisher().current()), visible(&before));
}

#[tokio::test]
async fn a_damaged_snapshot_is_passed_over() {
    let world = World::new(&[("metadata.log.max.record.bytes.between.snapshots", "1")]);
    let (local, shutdown) = world.start(false).await;
    assert!(create(&local, "t", 1).await);
    let before = visible(&local.publisher().current());
    stop(local, shutdown).await;
    let newest = *world.snapshots().last().unwrap();
    assert!(newest.offset > Offset(0));
    let path = folder().join(snapshot::name(newest));
    let bytes = world.disk.read(&path, 1 << 20).unwrap();
    let folder = Folder::new(world.disk.clone(), folder());
    for cut in [bytes.len() - 1, bytes.len() / 2, 0] {
        folder.write(&snapshot::name(newest), &bytes[..cut]).unwrap();
        let (local, shutdown) = world.start(false).await;
        assert_eq!(visible(&local.publisher().current()), before);
        stop(local, shutdown).await;
    }
}

#[tokio::test]
async fn a_log_without_the_snapshot_before_it_is_refused() {
    let world = World::new(&[]);
    let (local, shutdown) = world.start(false).await;
    assert!(create(&local, "t", 1).await);
    stop(local, shutdown).await;
    Store::Memory(Arc::clone(&world.memory)).trim(Offset(3)).unwrap();
    assert!(matches!(world.try_start(false).await, Err(Error::Gap { .. })));
}

/// A snapshot that Apache Kafka 4.4.0 wrote when it formatted a folder.
#[test]
fn a_snapshot_of_kafkas_is_read() {
    let bytes = include_bytes!("../kafka-4.4.0-formatted.checkpoint");
    let image = snapshot::decode(bytes::Bytes::from_static(bytes), "cluster").unwrap();
    let expected = [
        ("eligible.leader.replicas.version", 1),
        ("group.version", 1),
        ("metadata.version", 33),
        ("share.version", 2),
        ("streams.version", 1),
        ("transaction.version", 2),
    ];
    let found: Vec<(&str, i16)> =
        image.features().iter().map(|(name, level)| (name.as_str(), *level)).collect();
    assert_eq!(found, expected);
}

/// What a snapshot of ours looks like must be what Kafka's looks like: same records, same bytes but for the times.
#[test]
fn a_snapshot_of_ours_has_kafkas_bytes() {
    let theirs = include_bytes!("../kafka-4.4.0-formatted.checkpoint");
    let image = snapshot::decode(bytes::Bytes::from_static(theirs), "cluster").unwrap();
    let id = OffsetAndEpoch { offset: Offset(0), epoch: LeaderEpoch(0) };
    let ours = snapshot::encode(&image, id, Timestamp(1), Timestamp(2));
    let shapes = |bytes: &[u8]| -> Vec<(i64, i32, i16, i32)> {
        let batches = crate::record::walk(bytes).map(Result::unwrap);
        batches.map(|(_, one)| (one.base_offset, one.length, one.attributes, one.record_count)).collect()
    };
    assert_eq!(shapes(&ours), shapes(theirs));
}

#[derive(Clone, Debug)]
enum Act {
    Create(u8, i32, bool),
    Delete(u8),
    Grow(u8, i32, bool),
    Set(u8, i64),
    Unset(u8),
    Restart(bool),
}

fn act() -> impl Strategy<Value = Act> {
    let name = 0..4u8;
    prop_oneof![
        4 => (name.clone(), 1..4i32, any::<bool>()).prop_map(|(name, count, dry)| Act::Create(name, count, dry)),
        2 => name.clone().prop_map(Act::Delete),
        2 => (name.clone(), 1..6i32, any::<bool>()).prop_map(|(name, count, dry)| Act::Grow(name, count, dry)),
        2 => (name.clone(), 1..9i64).prop_map(|(name, value)| Act::Set(name, value)),
        1 => name.prop_map(Act::Unset),
        1 => any::<bool>().prop_map(Act::Restart),
    ]
}

type Model = BTreeMap<String, (i32, BTreeMap<String, String>)>;

async fn alter(local: &Local, name: &str, operation: i8, value: Option<String>) {
    let operation = ConfigOperation { key: "retention.ms".to_owned(), operation, value };
    let resource = AlterResource {
        resource_type: 2,
        name: name.to_owned(),
        change: ConfigChange::Each(vec![operation]),
    };
    let command = AlterConfigs { resources: vec![resource], validate_only: false };
    drop(local.controller().alter_configs(command).await.unwrap());
}

async fn run(act: &Act, local: &Local, model: &mut Model) {
    let key = "retention.ms".to_owned();
    match act {
        Act::Create(name, count, dry_run) => {
            let name = format!("t{name}");
            let command = CreateTopics { topics: vec![topic(&name, *count)], validate_only: *dry_run };
            let result = local.controller().create_topics(command).await.unwrap().value.remove(0).result;
            assert_eq!(result.is_ok(), !model.contains_key(&name));
            if !dry_run {
                model.entry(name).or_insert((*count, BTreeMap::new()));
            }
        }
        Act::Delete(name) => {
            let name = format!("t{name}");
            let topics = vec![TopicToDelete { name: Some(name.clone()), id: TopicId::ZERO }];
            let result = local.controller().delete_topics(topics).await.unwrap().value.remove(0).result;
            assert_eq!(result.is_ok(), model.remove(&name).is_some());
        }
        Act::Grow(name, count, dry_run) => {
            let name = format!("t{name}");
            let topics = vec![MorePartitions { name: name.clone(), count: *count, assignments: None }];
            let command = CreatePartitions { topics, validate_only: *dry_run };
            let result = local.controller().create_partitions(command).await.unwrap().value.remove(0).1;
            let known = model.get_mut(&name).filter(|known| known.0 < *count);
            assert_eq!(result.is_ok(), known.is_some());
            if let Some(known) = known.filter(|_| !dry_run) {
                known.0 = *count;
            }
        }
        Act::Set(name, value) => {
            let name = format!("t{name}");
            alter(local, &name, 0, Some(value.to_string())).await;
            if let Some(known) = model.get_mut(&name) {
                known.1.insert(key, value.to_string());
            }
        }
        Act::Unset(name) => {
            let name = format!("t{name}");
            alter(local, &name, 1, None).await;
            if let Some(known) = model.get_mut(&name) {
                known.1.remove(&key);
            }
        }
        Act::Restart(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn random_commands_and_restarts_agree_with_a_plain_model(
        acts in prop::collection::vec(act(), 1..60), snapshot_after in prop_oneof![Just("1"), Just("700"), Just("99999")],
        retention in prop_oneof![Just("1"), Just("104857600")],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let world = World::new(&[
                ("metadata.log.max.record.bytes.between.snapshots", snapshot_after),
                ("metadata.max.retention.bytes", retention),
            ]);
            let mut model = Model::new();
            let (mut local, mut shutdown) = world.start(false).await;
            for act in &acts {
                if let Act::Restart(unclean) = act {
                    let before = local.publisher().current();
                    stop(local, shutdown).await;
                    (local, shutdown) = world.start(*unclean).await;
                    assert_eq!(visible(&local.publisher().current()), visible(&before));
                }
                run(act, &local, &mut model).await;
                assert_eq!(visible(&local.publisher().current()), model);
            }
            stop(local, shutdown).await;
        });
    }
}
