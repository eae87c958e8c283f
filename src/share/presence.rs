//! Says that a client's connection has gone, so that what its members hold is released at once
//! (`ShareSessionCache.ClientConnectionDisconnectListener`).

use crate::share::Service;
use crate::share::sessions::Member;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A connection on which share sessions were opened. Dropping it ends those that are still this connection's.
#[derive(Debug)]
pub struct Presence {
    service: Service,
    id: u64,
    members: Mutex<BTreeSet<Member>>,
}

impl Presence {
    /// A connection without sessions.
    pub fn new(service: Service) -> Presence {
        Presence { service, id: NEXT.fetch_add(1, Ordering::Relaxed), members: Mutex::default() }
    }

    /// What tells this connection from others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// A session was opened on this connection. Sessions are limited in number, and so are these.
    pub(crate) fn opened(&self, member: Member) {
        let mut members = self.members.lock();
        if !members.contains(&member) {
            members.retain(|member| self.service.sessions().is_of(member, self.id));
            members.insert(member);
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let members = std::mem::take(&mut *self.members.lock());
        for member in members {
            self.service.departed(&member, self.id);
        }
    }
}
