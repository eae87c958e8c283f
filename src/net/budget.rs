//! Bytes of requests in work, over all connections: `queued.max.request.bytes`.
//!
//! A request gives back what it holds when it is answered, and before that when nobody holds its bytes any more: a
//! Fetch that waits for records costs nothing. A request is charged as it comes, so many can hold a part and wait for more. Lest they wait for each other, one of
//! them at a time goes over the budget: it comes in whole and is answered.

use crate::metrics;
use crate::metrics::Counter;
use crate::metrics::Gauge;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;

/// What a request may take without asking, so that small requests pass when large ones fill the budget.
pub(super) const FREE: usize = 16 * 1024;

/// Most that is asked for at a time.
const STEP_MAX: usize = 1 << 30;

/// The bytes that requests may hold together. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    left: Arc<Semaphore>,
    /// Held by the one request that may go over.
    over: Arc<Semaphore>,
    /// How many requests wait for bytes.
    waiting: Arc<AtomicUsize>,
    /// What is held at this moment.
    used: Gauge,
    /// Requests that had to wait.
    waited: Counter,
}

/// Bytes taken from the budget; given back when dropped.
#[derive(Debug, Default)]
pub(super) struct Charge {
    permit: Option<OwnedSemaphorePermit>,
    /// Shows what is held, as long as it is.
    used: Option<Gauge>,
    /// This request may take what it needs.
    over: Option<OwnedSemaphorePermit>,
}

impl Budget {
    /// A budget of this many bytes. Without a limit of the user's (-1) it is that of one request of the largest
    /// size, and never less: a single request always fits.
    pub(super) fn new(
        queued_max_request_bytes: i64,
        request_max_bytes: usize,
        metrics: &metrics::Net,
    ) -> Budget {
        let wanted = usize::try_from(queued_max_request_bytes).unwrap_or(0);
        let bytes = wanted.max(request_max_bytes).min(Semaphore::MAX_PERMITS);
        metrics.memory_limit.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        Budget {
            left: Arc::new(Semaphore::new(bytes)),
            over: Arc::new(Semaphore::new(1)),
            waiting: Arc::default(),
            used: metrics.memory_used.clone(),
            waited: metrics.memory_waits.clone(),
        }
    }

    /// Waits until the charge covers a request of `bytes` bytes. May be dropped at will: what is charged stays.
    pub(super) async fn cover(&self, charge: &mut Charge, bytes: usize) {
        let mut waits = None;
        while let Some(wide) = self.lacking(charge, bytes) {
            waits.get_or_insert_with(|| {
                self.waited.inc();
                Waits::new(&self.waiting)
            });
            let more = Arc::clone(&self.left).acquire_many_owned(wide);
            if charge.permit.is_none() {
                // Nobody waits for what this request holds.
                charge.add(more.await.expect("the budget is never closed"), &self.used);
                continue;
            }
            tokio::select! {
                biased;
                permit = more => charge.add(permit.expect("the budget is never closed"), &self.used),
                over = Arc::clone(&self.over).acquire_owned() => {
                    charge.over = Some(over.expect("the budget is never closed"));
                }
            }
        }
    }

    /// Covers the request if that needs no waiting.
    pub(super) fn try_cover(&self, charge: &mut Charge, bytes: usize) -> bool {
        self.lacking(charge, bytes).is_none()
    }

    /// Takes what is there; the step that the charge still wants and that is not there.
    fn lacking(&self, charge: &mut Charge, bytes: usize) -> Option<u32> {
        while let Some(step) = charge.short_of(bytes) {
            let wide = u32::try_from(step).expect("a step is at most a GiB");
            match Arc::clone(&self.left).try_acquire_many_owned(wide) {
                Ok(permit) => charge.add(permit, &self.used),
                Err(_) => return Some(wide),
            }
        }
        None
    }

    /// Whether a request waits for bytes that others hold.
    pub(super) fn is_scarce(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Bytes that nobody holds.
    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left.available_permits()
    }
}

impl Charge {
    /// Whether others may have to wait for this request.
    pub(super) fn holds(&self) -> bool {
        self.permit.is_some() || self.over.is_some()
    }

    /// What must be added to cover a request of `bytes` bytes, up to one step.
    fn short_of(&self, bytes: usize) -> Option<usize> {
        if self.over.is_some() {
            return None;
        }
        let charged = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let short = bytes.saturating_sub(FREE).saturating_sub(charged);
        (short > 0).then(|| short.min(STEP_MAX))
    }

    /// Gives back what is charged beyond a request of `bytes` bytes.
    pub(super) fn shrink(&mut self, bytes: usize) {
        let (keep, before) = (bytes.saturating_sub(FREE), self.held());
        if keep == 0 {
            self.permit = None;
        } else if let Some(permit) = &mut self.permit
            && let Some(surplus) = permit.num_permits().checked_sub(keep)
        {
            drop(permit.split(surplus));
        }
        if let Some(used) = &self.used {
            used.sub(before - self.held());
        }
    }

    /// The bytes it holds, for the figures.
    fn held(&self) -> i64 {
        let held = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        i64::try_from(held).unwrap_or(i64::MAX)
    }

    fn add(&mut self, more: OwnedSemaphorePermit, used: &Gauge) {
        used.add(i64::try_from(more.num_permits()).unwrap_or(i64::MAX));
        self.used = Some(used.clone());
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
    }
}

/// The charge of a request in work; given back when it is dropped or, if that is sooner, with the request's bytes.
#[derive(Debug, Default)]
pub(super) struct Lease(Option<Arc<Mutex<Charge>>>);

/// The bytes of a request that is charged.
struct Charged {
    bytes: Bytes,
    charge: Arc<Mutex<Charge>>,
}

impl Charge {
    /// Ties the charge to the bytes of its request; whoever gets these instead holds the charge, too.
    pub(super) fn tie_to(self, bytes: Bytes) -> (Bytes, Lease) {
        if !self.holds() {
            return (bytes, Lease::default());
        }
        let charge = Arc::new(Mutex::new(self));
        let lease = Lease(Some(Arc::clone(&charge)));
        (Bytes::from_owner(Charged { bytes, charge }), lease)
    }
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        drop(std::mem::take(&mut *self.charge.lock()));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(charge) = &self.0 {
            drop(std::mem::take(&mut *charge.lock()));
        }
    }
}

/// Counts a request among those that wait, until it is dropped.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(waiting: &'a AtomicUsize) -> Waits<'a> {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waits(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(used) = &self.used {
            used.sub(self.held());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Registry;
    use std::pin::pin;
    use std::task::Context;
    use std::task::Waker;

    #[tokio::test]
    async fn large_requests_wait_for_each_other_and_small_ones_for_nobody() {
        let metrics = Registry::new().net();
        let budget = Budget::new(-1, 100_000, &metrics);
        let mut first = Charge::default();
        budget.cover(&mut first, FREE + 90_000).await;
        assert_eq!(budget.left(), 10_000);
        assert_eq!((metrics.memory_used.get(), metrics.memory_limit.get()), (90_000, 100_000));
        let mut second = Charge::default();
        assert!(!budget.try_cover(&mut second, FREE + 20_000));
        assert!(budget.try_cover(&mut Charge::default(), FREE));
        budget.cover(&mut first, FREE + 90_000).await;
        assert_eq!(budget.left(), 10_000, "covered is covered");
        drop(first);
        assert!(budget.try_cover(&mut second, FREE + 20_000));
        drop(second);
        assert_eq!(budget.left(), 100_000);
        assert_eq!(metrics.memory_used.get(), 0);
    }

    #[tokio::test]
    async fn a_charge_ends_with_its_answer_or_with_the_last_of_its_bytes() {
        let budget = Budget::new(-1, 100_000, &Registry::new().net());
        let charged = || {
            let mut charge = Charge::default();
            assert!(budget.try_cover(&mut charge, FREE + 90_000));
            charge.tie_to(Bytes::from(vec![7; 100]))
        };
        let (bytes, lease) = charged();
        assert_eq!((bytes.len(), bytes.first(), budget.left()), (100, Some(&7), 10_000));
        let slice = bytes.slice(50..60);
        drop(bytes);
        assert_eq!(budget.left(), 10_000, "a part of it is held");
        drop(slice);
        assert_eq!(budget.left(), 100_000, "the answer is to come");
        drop(lease);
        let (bytes, lease) = charged();
        drop(lease);
        assert_eq!(budget.left(), 100_000, "it is answered");
        drop(bytes);
        assert_eq!(budget.left(), 100_000);
    }

    #[tokio::test]
    async fn requests_that_each_hold_a_part_do_not_wait_for_each_other_for_ever() {
        let budget = Budget::new(-1, 100_000, &Registry::new().net());
        let (mut first, mut second, mut third) = (Charge::default(), Charge::default(), Charge::default());
        budget.cover(&mut first, FREE + 50_000).await;
        budget.cover(&mut second, FREE + 40_000).await;
        budget.cover(&mut third, FREE + 10_000).await;
        budget.cover(&mut first, FREE + 90_000).await;
        assert!(budget.try_cover(&mut first, FREE + 95_000), "it goes over until it is answered");
        {
            let mut waiting = pin!(budget.cover(&mut second, FREE + 95_000));
            let mut context = Context::from_waker(Waker::noop());
            assert!(waiting.as_mut().poll(&mut context).is_pending(), "one at a time goes over");
            assert!(budget.is_scarce());
            drop(first);
            waiting.await;
        }
        assert!(!budget.is_scarce(), "who is covered waits no more");
        drop(second);
        budget.cover(&mut third, FREE + 95_000).await;
        drop(third);
        assert_eq!(budget.left(), 100_000);
    }
}
