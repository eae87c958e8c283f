//! The current image, for everybody.

use super::image::Image;
use arc_swap::ArcSwap;
use std::sync::Arc;
use tokio::sync::watch;

/// Where images come out: cheap to clone, read without a lock.
#[derive(Clone, Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    current: ArcSwap<Image>,
    changes: watch::Sender<Arc<Image>>,
}

impl Publisher {
    /// Begins with this image.
    pub fn new(image: Image) -> Publisher {
        let image = Arc::new(image);
        let (changes, _) = watch::channel(Arc::clone(&image));
        Publisher { shared: Arc::new(Shared { current: ArcSwap::new(image), changes }) }
    }

    /// The latest image.
    pub fn current(&self) -> Arc<Image> {
        self.shared.current.load_full()
    }

    /// Sees each later image; a slow watcher sees only the latest (use [`super::Delta`] to learn what changed).
    pub fn watch(&self) -> watch::Receiver<Arc<Image>> {
        self.shared.changes.subscribe()
    }

    /// Publishes a later image. Only the source of the log's order calls this (and tests of other rooms).
    pub fn publish(&self, image: Image) {
        let image = Arc::new(image);
        self.shared.current.store(Arc::clone(&image));
        self.shared.changes.send_replace(image);
    }
}
