//! Who may append what came from a connection: everybody, but while a copy in another directory takes the log's place.
//! Whoever comes then waits before the door, and finds the log in its new place when it opens.

use crate::log::Log;
use parking_lot::Condvar;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

/// The door of one log.
#[derive(Debug, Default)]
pub(crate) struct Door {
    shut: AtomicBool,
    inside: AtomicUsize,
    /// The last one leaves while somebody waits for that.
    leaving: Mutex<()>,
    left: Condvar,
    opened: Notify,
}

/// Somebody who is inside, until it is dropped; must not wait for anything meanwhile.
#[derive(Debug)]
pub struct Entry {
    log: Arc<Log>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let door = &self.log.door;
        if door.inside.fetch_sub(1, Ordering::SeqCst) == 1 && door.shut.load(Ordering::SeqCst) {
            let _leaving = door.leaving.lock();
            door.left.notify_all();
        }
    }
}

impl Door {
    /// Lets nobody in any more, and waits until nobody is inside.
    pub(crate) fn shut(&self) {
        self.shut.store(true, Ordering::SeqCst);
        let mut leaving = self.leaving.lock();
        while self.inside.load(Ordering::SeqCst) > 0 {
            self.left.wait(&mut leaving);
        }
    }

    pub(crate) fn open(&self) {
        self.shut.store(false, Ordering::SeqCst);
        self.opened.notify_waiters();
    }
}

impl Log {
    /// Goes in, so that appends are not refused until the entry is dropped because the log moves to another directory;
    /// `None` while the door is shut.
    pub fn enter(self: &Arc<Self>) -> Option<Entry> {
        self.door.inside.fetch_add(1, Ordering::SeqCst);
        let entry = Entry { log: Arc::clone(self) };
        (!self.door.shut.load(Ordering::SeqCst)).then_some(entry)
    }

    /// Waits until the door is open. The log may lie elsewhere then, as another [`Log`].
    pub async fn opened(&self) {
        loop {
            let opened = self.door.opened.notified();
            tokio::pin!(opened);
            opened.as_mut().enable();
            if !self.door.shut.load(Ordering::SeqCst) {
                return;
            }
            opened.await;
        }
    }
}
