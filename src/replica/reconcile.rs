//! From an image of the cluster to what this node does: opens logs, takes roles, deletes.

use crate::base::BrokerId;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::cluster;
use crate::cluster::Delta;
use crate::cluster::Image;
use crate::cluster::ResourceType;
use crate::cluster::Topic;
use crate::config::ServerConfig;
use crate::config::TopicConfig;
use crate::io::task;
use crate::log;
use crate::log::Dirs;
use crate::log::Log;
use crate::log::Relocation;
use crate::replica::partition::Partition;
use crate::replica::partition::Shared;
use crate::replica::registry::Hosted;
use crate::replica::registry::Registry;
use std::sync::Arc;
use tracing::debug;
use tracing::info;
use tracing::warn;

/// Brings the registry into the state that an image asks for, one image after the other.
#[derive(Debug)]
pub(super) struct Reconciler {
    pub(super) dirs: Dirs,
    pub(super) config: Arc<ServerConfig>,
    pub(super) shared: Arc<Shared>,
    /// The settings that topics fall back to: the file's, with the cluster's and this broker's dynamic ones.
    pub(super) defaults: Arc<ServerConfig>,
    /// The image that is acted on already.
    pub(super) seen: Arc<Image>,
    /// Whether the first image was acted on. What it has may lie in a directory that is offline now; what a later
    /// image adds is new and lies in none.
    pub(super) started: bool,
    /// Partitions that could not be opened for want of room: they are tried again.
    pub(super) waiting: Vec<Waiting>,
}

/// A partition that could not be opened for a reason that may pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    topic: TopicId,
    index: PartitionIndex,
    is_new: bool,
}

/// The log of the cluster's own records; it is in no image.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// A log to open and the state its partition takes.
struct Opening {
    name: TopicPartition,
    topic_id: TopicId,
    config: Arc<TopicConfig>,
    state: cluster::Partition,
    /// The cluster made it while this node ran, so it lies in no directory yet.
    is_new: bool,
}

impl Reconciler {
    /// Folders of partitions that the first image does not have here are set aside with their bytes, so that they
    /// are in nobody's way and nothing is lost (`LogManager.findStrayReplicas`).
    pub(super) async fn set_strays_aside(&self, image: &Arc<Image>) {
        let (dirs, image, node_id) = (self.dirs.clone(), Arc::clone(image), self.node_id());
        task::run_blocking(move || {
            for found in dirs.found() {
                let name = &found.partition;
                let belongs = image.topic(&name.topic).is_some_and(|topic| {
                    found.topic_id.is_none_or(|id| id == topic.id)
                        && topic
                            .partition(name.partition)
                            .is_some_and(|state| state.replicas.contains(&node_id))
                });
                if belongs || name.topic.as_ref() == METADATA_TOPIC {
                    continue;
                }
                if let Err(error) = dirs.set_aside(&found) {
                    warn!(partition = %name, %error, "cannot set a stray partition aside");
                }
            }
        })
        .await;
    }

    /// Acts on a later image; what cannot be opened is registered as offline.
    pub(super) async fn act(&mut self, image: &Arc<Image>, registry: &Registry) {
        let delta = Delta::between(&self.seen, image);
        if delta.configs.iter().any(|resource| resource.kind == ResourceType::Broker) {
            self.take_defaults(image);
        }
        for topic in &delta.deleted {
            self.delete_topic(topic, registry).await;
        }
        let mut openings = Vec::new();
        for topic in &delta.created {
            self.openings(image, topic, registry, &mut openings);
        }
        for (earlier, later) in &delta.changed {
            self.drop_moved(earlier, later, registry).await;
            self.openings(image, later, registry, &mut openings);
            self.change_roles(later, registry);
        }
        self.open(openings, registry).await;
        self.change_configs(image, &delta, registry);
        self.seen = Arc::clone(image);
        self.started = true;
    }

    fn node_id(&self) -> BrokerId {
        self.shared.node_id
    }

    fn take_defaults(&mut self, image: &Image) {
        let cluster = image.broker_configs(None);
        let own = image.broker_configs(Some(self.node_id()));
        match self.config.with_dynamic(cluster, own) {
            Ok(defaults) => {
                self.dirs.reconfigure(&defaults.storage);
                self.defaults = Arc::new(defaults);
            }
            Err(invalid) => {
                warn!(%invalid, "dynamic broker settings do not fit; the former ones stay in force")
            }
        }
    }

    fn topic_config(&self, image: &Image, topic: &str) -> Arc<TopicConfig> {
        match TopicConfig::resolve(&self.defaults, image.topic_configs(topic)) {
            Ok(config) => Arc::new(config),
            Err(invalid) => {
                warn!(topic, %invalid, "settings of a topic do not fit; the broker's defaults count");
                Arc::new(self.defaults.log.clone())
            }
        }
    }

    /// What has a replica here and is not open yet.
    fn openings(&self, image: &Image, topic: &Arc<Topic>, registry: &Registry, into: &mut Vec<Opening>) {
        let mine = |partition: &&cluster::Partition| {
            partition.replicas.contains(&self.node_id())
                && registry.by_id(topic.id, partition.index).is_none()
        };
        let mut config = None;
        for state in topic.partitions.iter().filter(mine) {
            let config = config.get_or_insert_with(|| self.topic_config(image, &topic.name));
            into.push(Opening {
                name: TopicPartition::new(Arc::clone(&topic.name), state.index),
                topic_id: topic.id,
                config: Arc::clone(config),
                state: state.clone(),
                is_new: self.started,
            });
        }
    }

    /// Tries again what could not be opened for want of room; whether anything serves now that did not before.
    pub(super) async fn open_waiting(&mut self, registry: &Registry) -> bool {
        let waiting = std::mem::take(&mut self.waiting);
        let before = waiting.len();
        let opening = |waiting: Waiting| {
            let topic = self.seen.topic_by_id(waiting.topic)?;
            Some(Opening {
                name: TopicPartition::new(Arc::clone(&topic.name), waiting.index),
                topic_id: waiting.topic,
                config: self.topic_config(&self.seen, &topic.name),
                state: topic.partition(waiting.index)?.clone(),
                is_new: waiting.is_new,
            })
        };
        let mine = |opening: &Opening| opening.state.replicas.contains(&self.node_id());
        let openings: Vec<Opening> = waiting.into_iter().filter_map(opening).filter(mine).collect();
        self.open(openings, registry).await;
        self.waiting.len() < before
    }

    /// Opens logs away from the workers, gives their partitions a role, and only then registers them.
    async fn open(&mut self, openings: Vec<Opening>, registry: &Registry) {
        if openings.is_empty() {
            return;
        }
        let dirs = self.dirs.clone();
        let shared = Arc::clone(&self.shared);
        let opened = task::run_blocking(move || {
            let open = |opening: Opening| {
                let Opening { name, topic_id, config, state, is_new } = opening;
                let log = if is_new {
                    dirs.create_log(&name, topic_id, config)
                } else {
                    dirs.open_log(&name, topic_id, config)
                };
                let may_pass = log.as_ref().is_err_and(log::Error::may_pass);
                let waiting = may_pass.then_some(Waiting { topic: topic_id, index: name.partition, is_new });
                let hosted = hosted(&name, log, &state, &shared);
                (name, topic_id, hosted, waiting)
            };
            openings.into_iter().map(open).collect::<Vec<_>>()
        })
        .await;
        self.waiting.extend(opened.iter().filter_map(|opened| opened.3));
        for topic in opened.chunk_by(|one, next| one.1 == next.1) {
            if let Some((name, id, ..)) = topic.first() {
                let partitions =
                    topic.iter().map(|(name, _, hosted, _)| (name.partition, hosted.clone())).collect();
                registry.put(*id, &name.topic, partitions);
            }
        }
    }

    /// Puts a copy in another directory in place of a partition's log; whether it lies there now. Then who waits
    /// there for records is told to look for the leader again, and what was appended counts; else it goes on as it was.
    pub(super) async fn swap(&mut self, relocation: Arc<Relocation>, registry: &Registry) -> bool {
        let (id, name) = (relocation.topic_id(), relocation.partition().clone());
        let state = self.seen.topic_by_id(id).and_then(|topic| topic.partition(name.partition)).cloned();
        let (Some(Hosted::Online(partition)), Some(state)) = (registry.by_id(id, name.partition), state)
        else {
            return false;
        };
        let shared = Arc::clone(&self.shared);
        let (index, topic) = (name.partition, Arc::clone(&name.topic));
        let (moving, before) = (Arc::clone(&relocation), Arc::clone(partition.log()));
        let finished = task::run_blocking(move || {
            let log = moving.finish()?;
            partition.move_away();
            // What was seen stays visible.
            log.set_high_watermark(partition.log().high_watermark());
            Ok::<Hosted, log::Error>(hosted(&name, Ok(log), &state, &shared))
        });
        match finished.await {
            Ok(hosted) => {
                registry.put(id, &topic, vec![(index, hosted)]);
                task::run_blocking(move || relocation.clear_away(&before)).await;
                true
            }
            Err(error) => {
                warn!(%topic, partition = %index, %error, "a log stays in its directory");
                false
            }
        }
    }

    fn change_roles(&self, topic: &Topic, registry: &Registry) {
        for state in &topic.partitions {
            let Some(Hosted::Online(partition)) = registry.by_id(topic.id, state.index) else { continue };
            match partition.assume(state) {
                Ok(changed) => debug!(partition = %partition.name(), changed, "partition changed"),
                Err(error) => warn!(partition = %partition.name(), %error, "cannot take the role"),
            }
        }
    }

    /// Partitions that have no replica here any more.
    async fn drop_moved(&self, earlier: &Topic, later: &Topic, registry: &Registry) {
        for before in &earlier.partitions {
            let here = |state: &cluster::Partition| state.replicas.contains(&self.node_id());
            if here(before) && !later.partition(before.index).is_some_and(here) {
                let taken = registry.take(earlier.id, before.index);
                self.delete(earlier, taken.map(|hosted| (before.index, hosted)).into_iter().collect()).await;
            }
        }
    }

    async fn delete_topic(&self, topic: &Topic, registry: &Registry) {
        info!(topic = %topic.name, "topic deleted");
        self.delete(topic, registry.take_topic(topic.id)).await;
    }

    async fn delete(&self, topic: &Topic, taken: Vec<(PartitionIndex, Hosted)>) {
        let mut logs = Vec::new();
        for (index, hosted) in taken {
            if let Hosted::Online(partition) = &hosted {
                partition.leave();
            }
            logs.push(TopicPartition::new(Arc::clone(&topic.name), index));
        }
        let dirs = self.dirs.clone();
        task::run_blocking(move || {
            for name in logs {
                if let Err(error) = dirs.delete_log(&name) {
                    warn!(partition = %name, %error, "cannot delete the log");
                }
            }
        })
        .await;
    }

    fn change_configs(&self, image: &Image, delta: &Delta, registry: &Registry) {
        let broker = delta.configs.iter().any(|resource| resource.kind == ResourceType::Broker);
        if broker {
            for topic in image.topics() {
                self.set_config(image, topic, registry);
            }
            return;
        }
        for resource in delta.configs.iter().filter(|resource| resource.kind == ResourceType::Topic) {
            if let Some(topic) = image.topic(&resource.name) {
                self.set_config(image, topic, registry);
            }
        }
    }

    fn set_config(&self, image: &Image, topic: &Topic, registry: &Registry) {
        let config = self.topic_config(image, &topic.name);
        for (_, hosted) in registry.topic(topic.id) {
            if let Hosted::Online(partition) = hosted {
                partition.log().set_config(Arc::clone(&config));
            }
        }
    }
}

fn hosted(
    name: &TopicPartition,
    log: Result<Arc<Log>, log::Error>,
    state: &cluster::Partition,
    shared: &Arc<Shared>,
) -> Hosted {
    let opened = log.map_err(crate::replica::Error::from).and_then(|log| {
        let partition = Partition::new(log, Arc::clone(shared));
        partition.assume(state)?;
        Ok(Hosted::Online(Arc::new(partition)))
    });
    opened.unwrap_or_else(|error| {
        warn!(partition = %name, %error, "cannot open a partition; it is offline");
        Hosted::Offline
    })
}
