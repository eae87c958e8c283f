//! The room's handle: finds partitions, follows the cluster's images, reads several partitions at once.

use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::task;
use crate::io::task::Shutdown;
use crate::io::task::Task;
use crate::log::Description;
use crate::log::Dirs;
use crate::metrics;
use crate::replica::error::Error;
use crate::replica::leadership::Leaderships;
use crate::replica::leadership::Led;
use crate::replica::move_dir::Swap;
use crate::replica::partition::Partition;
use crate::replica::partition::Shared;
use crate::replica::reconcile::Reconciler;
use crate::replica::registry;
use crate::replica::registry::Hosted;
use crate::replica::registry::Registry;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::sync::watch;

/// How often partitions are tried again that could not be opened for want of room.
const RETRY_OPENING: Duration = Duration::from_secs(1);

/// All partitions that have a replica on this node.
#[derive(Debug)]
pub struct Replicas {
    publisher: Publisher,
    /// The log directories; `None` only for [`Replicas::idle`].
    dirs: Option<Dirs>,
    registry: Registry,
    leaderships: Leaderships,
    /// The offset of the image that was acted on last.
    applied: watch::Sender<Offset>,
    task: Mutex<Option<Task<()>>>,
    swaps: mpsc::Sender<Swap>,
}

impl Replicas {
    /// Opens what the current image has for this node, then follows later images in a task until shutdown.
    pub async fn start(
        dirs: Dirs,
        publisher: Publisher,
        config: Arc<ServerConfig>,
        (clock, topics): (Clock, metrics::Topics),
        shutdown: Shutdown,
    ) -> Arc<Replicas> {
        let lag_max = config.get("replica.lag.time.max.ms").and_then(|text| text.parse().ok());
        let shared = Arc::new(Shared {
            node_id: config.node_id,
            clock,
            flush_acks: config.storage.flush_acks,
            lag_max: Duration::from_millis(lag_max.unwrap_or(30_000)),
            topics,
        });
        let (swaps, mut asked) = mpsc::channel(1);
        let replicas = Arc::new(Replicas {
            swaps,
            publisher: publisher.clone(),
            dirs: Some(dirs.clone()),
            registry: Registry::default(),
            leaderships: Leaderships::default(),
            applied: watch::channel(Offset(-1)).0,
            task: Mutex::new(None),
        });
        let cluster_id = publisher.current().cluster_id.to_string();
        let mut reconciler = Reconciler {
            dirs,
            defaults: Arc::clone(&config),
            config,
            shared,
            seen: Arc::new(Image::empty(&cluster_id)),
            started: false,
            waiting: Vec::new(),
        };
        let retry_clock = reconciler.shared.clock.clone();
        let mut images = publisher.watch();
        let first = images.borrow_and_update().clone();
        reconciler.set_strays_aside(&first).await;
        replicas.act(&mut reconciler, &first).await;
        let follower = Arc::clone(&replicas);
        let task = task::spawn("reconcile", async move {
            loop {
                tokio::select! {
                    biased;
                    () = shutdown.triggered() => return,
                    changed = images.changed() => if changed.is_err() { return },
                    Some(Swap { relocation, done }) = asked.recv() => {
                        let moved = reconciler.swap(relocation, &follower.registry).await;
                        follower.leaderships.publish(|topic| follower.led(topic));
                        // Whoever asked may have gone: the log lies where it lies.
                        let _gone = done.send(moved).is_err();
                        continue;
                    }
                    () = retry_clock.sleep(RETRY_OPENING), if !reconciler.waiting.is_empty() => {
                        follower.open_waiting(&mut reconciler).await;
                        continue;
                    }
                }
                let image = images.borrow_and_update().clone();
                follower.act(&mut reconciler, &image).await;
            }
        });
        *replicas.task.lock() = Some(task);
        replicas
    }

    /// Without partitions and without a task, for tests of the rooms above.
    #[cfg(test)]
    pub(crate) fn idle(publisher: Publisher) -> Arc<Replicas> {
        Arc::new(Replicas {
            swaps: mpsc::channel(1).0,
            publisher,
            dirs: None,
            registry: Registry::default(),
            leaderships: Leaderships::default(),
            applied: watch::channel(Offset(-1)).0,
            task: Mutex::new(None),
        })
    }

    /// What moves between log directories work with.
    pub(super) fn movable(&self) -> (Option<Dirs>, mpsc::Sender<Swap>) {
        (self.dirs.clone(), self.swaps.clone())
    }

    async fn act(&self, reconciler: &mut Reconciler, image: &Arc<Image>) {
        reconciler.act(image, &self.registry).await;
        self.leaderships.publish(|topic| self.led(topic));
        self.applied.send_replace(image.offset);
    }

    async fn open_waiting(&self, reconciler: &mut Reconciler) {
        if reconciler.open_waiting(&self.registry).await {
            self.leaderships.publish(|topic| self.led(topic));
        }
    }

    /// Waits for the task that follows the images; call it after the shutdown was triggered.
    pub async fn ended(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.join().await;
        }
    }

    /// The partition with this topic name.
    ///
    /// # Errors
    /// UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER when it is elsewhere, KAFKA_STORAGE_ERROR.
    pub fn by_name(&self, topic: &str, index: PartitionIndex) -> Result<Arc<Partition>, Error> {
        let hosted = self.registry.by_name(topic, index);
        registry::found(hosted, || registry::missing_name(&self.publisher.current(), topic, index))
    }

    /// The partition with this topic id.
    ///
    /// # Errors
    /// As [`Replicas::by_name`], and UNKNOWN_TOPIC_ID.
    pub fn by_id(&self, topic: TopicId, index: PartitionIndex) -> Result<Arc<Partition>, Error> {
        let hosted = self.registry.by_id(topic, index);
        registry::found(hosted, || registry::missing_id(&self.publisher.current(), topic, index))
    }

    /// Every partition that serves, in no order.
    pub fn all(&self) -> Vec<Arc<Partition>> {
        self.registry.online()
    }

    /// How many partitions should serve here and could not be opened.
    pub fn offline(&self) -> usize {
        self.registry.offline()
    }

    /// The log directories with what lies in them. Asks the file systems, so it may take as long as they do.
    pub async fn describe_directories(&self) -> Vec<Description> {
        match self.dirs.clone() {
            Some(dirs) => task::run_blocking(move || dirs.describe()).await,
            None => Vec::new(),
        }
    }

    /// Waits until this node has acted on the metadata up to this offset (exclusive end, as in
    /// [`Image::offset`]).
    pub async fn applied(&self, offset: Offset) {
        let mut receiver = self.applied.subscribe();
        receiver.wait_for(|applied| *applied >= offset).await.expect("the sender lives as long as self");
    }

    /// Which partitions of a topic this node leads, now and later. A new epoch is a change.
    pub fn leadership(&self, topic: &str) -> watch::Receiver<Led> {
        self.leaderships.follow(topic, || self.led(topic))
    }

    fn led(&self, topic: &str) -> Led {
        let image = self.publisher.current();
        let Some(topic) = image.topic(topic) else { return Led::default() };
        let led = self.registry.topic(topic.id).into_iter().filter_map(|(index, hosted)| match hosted {
            Hosted::Online(partition) if partition.is_leader() => Some((index, partition.leader_epoch())),
            Hosted::Online(_) | Hosted::Offline => None,
        });
        Arc::new(led.collect())
    }
}
