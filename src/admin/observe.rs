//! Looks at the rooms for what is not counted but is so at this moment.

use crate::base::BrokerId;
use crate::base::Timestamp;
use crate::broker::Broker;
use crate::cluster::Image;
use crate::io::process;
use crate::log::Description;
use crate::log::DirectoryState;
use crate::metrics;
use crate::quota;
use crate::replica::Replicas;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

/// How long a coordinator may take to say how much it has.
const PATIENCE: Duration = Duration::from_secs(1);

/// How much longer than allowed a transaction is open before it is called late
/// (`ProducerStateManager.LATE_TRANSACTION_BUFFER_MS`).
const LATE_BUFFER_MS: i64 = 5 * 60 * 1000;

/// The rooms that are looked at.
#[derive(Clone, Debug)]
pub struct Rooms {
    /// Everything that serves requests.
    pub broker: Arc<Broker>,
}

/// What is looked up without waiting for others: it may still take as long as the file systems.
pub(super) fn process(busy: Duration, idle: Option<f64>, state: u8) -> metrics::Process {
    metrics::Process { busy: Some(busy), idle, state, ..process::usage() }
}

impl Rooms {
    /// The groups coordinated here; `None` while some are being loaded.
    pub(super) async fn groups(&self) -> Option<metrics::Groups> {
        match self.broker.clock.timeout(PATIENCE, self.broker.groups.count()).await {
            Some(Ok(groups)) => Some(groups),
            Some(Err(error)) => {
                debug!(%error, "groups are not counted");
                None
            }
            None => None,
        }
    }

    /// The transactional ids coordinated here; `None` while some are being loaded.
    pub(super) async fn transactions(&self) -> Option<metrics::Transactions> {
        match self.broker.clock.timeout(PATIENCE, self.broker.transactions.count()).await {
            Some(Ok(transactions)) => Some(transactions),
            Some(Err(error)) => {
                debug!(%error, "transactional ids are not counted");
                None
            }
            None => None,
        }
    }

    /// The log directories.
    pub(super) async fn directories(&self) -> Vec<metrics::Directory> {
        self.broker.replicas.describe_directories().await.into_iter().map(directory).collect()
    }

    /// What the cluster has agreed on.
    pub(super) fn cluster(&self) -> metrics::Cluster {
        let mut cluster = cluster(&self.broker.publisher.current(), self.broker.config.node_id);
        cluster.is_controller = self.broker.controller.is_active();
        // No other node could lead what this one cannot open or lost with a log directory.
        cluster.leaderless = cluster.leaderless.saturating_add(self.replicas().offline);
        cluster
    }

    /// The fetch sessions.
    pub(super) fn sessions(&self) -> metrics::Sessions {
        self.broker.fetch_sessions.sizes()
    }

    /// The clients whose use is limited.
    pub(super) fn limits(&self) -> Vec<metrics::Limit> {
        let max = usize::try_from(self.broker.config.telemetry.series_max).unwrap_or(0);
        let mut limits: Vec<metrics::Limit> =
            self.broker.quotas.figures(max).into_iter().filter_map(limit).collect();
        // Names that were cut to the same text are shown once.
        limits.dedup_by(|one, before| {
            (one.what, &one.user, &one.client_id) == (before.what, &before.user, &before.client_id)
        });
        limits
    }

    /// The partitions here, sorted by name.
    pub(super) fn replicas(&self) -> metrics::Replicas {
        let wall = self.broker.clock.wall();
        let longest_ms = i64::from(self.broker.config.transactions.timeout_max_ms);
        let late_before = Timestamp(wall.0.saturating_sub(longest_ms).saturating_sub(LATE_BUFFER_MS));
        replicas(&self.broker.replicas, late_before)
    }
}

/// The longest name of a user or client that becomes a label, in bytes.
const NAME_MAX: usize = 256;

fn limit(figure: quota::Figure) -> Option<metrics::Limit> {
    let what = match figure.kind {
        quota::Kind::Produce => metrics::Limited::Produce,
        quota::Kind::Fetch => metrics::Limited::Fetch,
        quota::Kind::Request => metrics::Limited::Request,
        quota::Kind::ControllerMutation => return None,
    };
    let cut = |mut name: String| {
        name.truncate(name.floor_char_boundary(NAME_MAX));
        name
    };
    let (user, client_id) = (cut(figure.user), cut(figure.client_id));
    Some(metrics::Limit { what, user, client_id, rate: figure.rate, throttle_ms: figure.pause_ms })
}

fn directory(found: Description) -> metrics::Directory {
    metrics::Directory {
        path: found.path.display().to_string(),
        offline: matches!(found.state, DirectoryState::Offline(_)),
        space: found.space.map(|space| (space.total, space.usable)),
        uncleanable: (
            u64::try_from(found.cleaning.uncleanable_partitions).unwrap_or(u64::MAX),
            found.cleaning.uncleanable_bytes,
        ),
        since_last_run_ms: found.cleaning.since_last_run_ms,
    }
}

fn replicas(replicas: &Replicas, late_before: Timestamp) -> metrics::Replicas {
    let hosted = replicas.all();
    let serving = || hosted.iter().filter(|partition| partition.log().is_online());
    let offline = replicas.offline().saturating_add(hosted.len().saturating_sub(serving().count()));
    let mut partitions: Vec<metrics::Partition> = serving()
        .map(|partition| {
            let (producers, oldest_open) = partition.log().producer_figures();
            metrics::Partition {
                topic: Arc::clone(&partition.name().topic),
                index: partition.name().partition.0,
                led: partition.led(),
                size: partition.log().size_bytes(),
                start: partition.log_start_offset().0,
                end: partition.log_end_offset().0,
                segments: partition.log().segment_count(),
                producers,
                has_late_transaction: oldest_open.is_some_and(|last| last < late_before),
            }
        })
        .collect();
    partitions.sort_unstable_by(|one, other| (&one.topic, one.index).cmp(&(&other.topic, other.index)));
    metrics::Replicas { partitions, offline }
}

fn cluster(image: &Image, node_id: BrokerId) -> metrics::Cluster {
    let mut cluster = metrics::Cluster {
        leader: node_id.0,
        epoch: image.epoch.0,
        metadata_end: image.offset.0,
        topics: image.topic_count(),
        ..metrics::Cluster::default()
    };
    for broker in image.brokers() {
        if broker.fenced { cluster.fenced_brokers += 1 } else { cluster.active_brokers += 1 }
    }
    for partition in image.topics().flat_map(|topic| &topic.partitions) {
        cluster.partitions += 1;
        if partition.leader == BrokerId::NONE {
            cluster.leaderless += 1;
        }
        if partition.replicas.first() != Some(&partition.leader) {
            cluster.not_preferred += 1;
        }
    }
    cluster
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::TopicId;
    use crate::broker::testing::idle_broker;
    use crate::cluster::testing::add_topic;
    use crate::replica::testing::Node;
    use crate::replica::testing::config;

    #[tokio::test]
    async fn a_failed_directory_takes_its_partitions_out_of_the_figures_and_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let dirs = format!("{},{}", path("a"), path("b"));
        let node = Node::start(
            config(folder.path(), &[("node.id", "1"), ("log.dirs", &dirs)]),
            Image::empty("cluster"),
        )
        .await;
        let topic_id = TopicId::random_from(crate::io::random::uuid);
        node.change(|image| add_topic(image, ("t", topic_id), 6, |partition| partition)).await;
        let shown = |replicas: metrics::Replicas| (replicas.partitions.len(), replicas.offline);
        assert_eq!(shown(replicas(&node.replicas, Timestamp(0))), (6, 0));
        node.dirs.fail(1);
        let (left, lost) = shown(replicas(&node.replicas, Timestamp(0)));
        assert_eq!(left + lost, 6);
        assert!(left > 0 && lost > 0, "both directories have partitions: {left} and {lost}");
        let directories: Vec<bool> = node
            .replicas
            .describe_directories()
            .await
            .into_iter()
            .map(|one| directory(one).offline)
            .collect();
        assert_eq!(directories, [false, true]);
        node.end().await;
    }

    #[test]
    fn a_broker_whose_controller_has_stopped_is_none() {
        let rooms = Rooms { broker: idle_broker() };
        assert!(!rooms.cluster().is_controller);
    }
}
