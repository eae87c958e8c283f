//! Tells who waits for it that the end of a transaction is recorded, so that its id takes the next one.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

/// The transactional ids for which somebody waits; what is sent is never looked at, only that the channel closes.
#[derive(Debug, Default)]
pub(crate) struct Ends(Mutex<HashMap<Arc<str>, watch::Sender<()>>>);

/// Hears what is told from its making on.
pub(crate) struct Listener {
    ends: Arc<Ends>,
    id: Arc<str>,
    open: watch::Receiver<()>,
}

impl Ends {
    /// Listens for the end of the id's transaction.
    pub(crate) fn listen(self: &Arc<Ends>, id: &Arc<str>) -> Listener {
        let mut ids = self.0.lock();
        let open = ids.entry(Arc::clone(id)).or_insert_with(|| watch::Sender::new(())).subscribe();
        Listener { ends: Arc::clone(self), id: Arc::clone(id), open }
    }

    /// Tells that the id's transaction is over.
    pub(crate) fn tell(&self, id: &str) {
        self.0.lock().remove(id);
    }
}

impl Listener {
    /// Waits until it is told.
    pub(crate) async fn told(&mut self) {
        while self.open.changed().await.is_ok() {}
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut ids = self.ends.0.lock();
        let was_told = self.open.has_changed().is_err();
        let is_last = ids.get(&self.id).is_some_and(|sender| sender.receiver_count() == 1);
        if !was_told && is_last {
            ids.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_listens_hears_the_end_and_nobody_is_kept() {
        let ends = Arc::new(Ends::default());
        let (one, other): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("other"));
        ends.tell("one");
        let (mut first, mut second, stranger) = (ends.listen(&one), ends.listen(&one), ends.listen(&other));
        ends.tell("one");
        let later = ends.listen(&one);
        first.told().await;
        second.told().await;
        drop((first, second));
        assert_eq!(ends.0.lock().len(), 2, "one who came later still listens");
        assert!(later.open.has_changed().is_ok() && stranger.open.has_changed().is_ok());
        let beside = ends.listen(&one);
        drop(later);
        assert_eq!(ends.0.lock().len(), 2, "the last of several is still there");
        drop((beside, stranger));
        assert!(ends.0.lock().is_empty());
    }
}
