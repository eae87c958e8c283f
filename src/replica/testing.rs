//! A node's partitions over real log directories, for tests here and in the rooms above: images are published by hand.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::disk::Disk;
use crate::io::task::Shutdown;
use crate::log::Dirs;
use crate::log::Threads;
use crate::metrics::Registry;
use crate::replica::Replicas;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Longer than anything takes here.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// The partitions of a node, on a folder of the test's.
pub(crate) struct Node {
    pub(crate) replicas: Arc<Replicas>,
    pub(crate) publisher: Publisher,
    pub(crate) dirs: Dirs,
    pub(crate) clock: Clock,
    pub(crate) shutdown: Shutdown,
}

/// These settings; the data lie in `folder` unless they say something else.
pub(crate) fn config(folder: &Path, settings: &[(&str, &str)]) -> Arc<ServerConfig> {
    let mut set: BTreeMap<String, String> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    set.entry("log.dirs".to_owned()).or_insert_with(|| folder.to_str().unwrap().to_owned());
    Arc::new(ServerConfig::new(&set, "localhost").unwrap())
}

impl Node {
    pub(crate) async fn start(config: Arc<ServerConfig>, image: Image) -> Node {
        let (clock, shutdown) = (Clock::system(), Shutdown::new());
        let dirs = Dirs::open(
            Disk::system(),
            clock.clone(),
            shutdown.clone(),
            config.storage.clone(),
            Threads::Own,
            Registry::new().log(),
        )
        .unwrap();
        let publisher = Publisher::new(image);
        let outside = (clock.clone(), Registry::new().topics());
        let replicas =
            Replicas::start(dirs.clone(), publisher.clone(), config, outside, shutdown.clone()).await;
        Node { replicas, publisher, dirs, clock, shutdown }
    }

    /// Publishes a changed image and waits until the partitions follow it.
    pub(crate) async fn change(&self, change: impl FnOnce(&mut Image)) {
        let mut image = self.publisher.current().as_ref().clone();
        change(&mut image);
        let end = Offset(image.offset.0 + 1);
        image.advance(end, LeaderEpoch(1));
        self.publisher.publish(image);
        self.clock.timeout(LONG, self.replicas.applied(end)).await.unwrap();
    }

    /// Ends in good order; who runs something on the partitions ends it first.
    pub(crate) async fn end(&self) {
        self.shutdown.trigger();
        self.replicas.ended().await;
        self.dirs.close(1);
    }
}
