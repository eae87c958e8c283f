//! The end of a log as readers see it: offset, segment and file position, always of one moment.

use crate::base::Offset;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::atomic::fence;

/// Where the written part of a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// The log end offset (exclusive).
    pub(crate) offset: Offset,
    /// The base offset of the segment it lies in.
    pub(crate) segment: Offset,
    /// The end of the written bytes in that segment.
    pub(crate) position: u64,
}

/// One writer (under the partition's lock) stores, any number of readers load without a lock: a sequence lock.
#[derive(Debug)]
pub(crate) struct Published {
    version: AtomicU64,
    offset: AtomicI64,
    segment: AtomicI64,
    position: AtomicU64,
}

impl Published {
    pub(crate) fn new(end: End) -> Published {
        Published {
            version: AtomicU64::new(0),
            offset: AtomicI64::new(end.offset.0),
            segment: AtomicI64::new(end.segment.0),
            position: AtomicU64::new(end.position),
        }
    }

    /// Makes a new end visible; only the writer calls this.
    pub(crate) fn store(&self, end: End) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.offset.store(end.offset.0, Ordering::Relaxed);
        self.segment.store(end.segment.0, Ordering::Relaxed);
        self.position.store(end.position, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// The end; never a mixture of two.
    pub(crate) fn load(&self) -> End {
        loop {
            let before = self.version.load(Ordering::Acquire);
            let end = End {
                offset: Offset(self.offset.load(Ordering::Relaxed)),
                segment: Offset(self.segment.load(Ordering::Relaxed)),
                position: self.position.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if before.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == before {
                return end;
            }
            std::hint::spin_loop();
        }
    }

    /// The end offset alone.
    pub(crate) fn offset(&self) -> Offset {
        Offset(self.offset.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn readers_never_see_a_mixture_of_two_ends() {
        let end = |number: u32| End {
            offset: Offset(i64::from(number)),
            segment: Offset(i64::from(number) * 3),
            position: u64::from(number) * 7,
        };
        let published = Arc::new(Published::new(end(0)));
        let writer = published.clone();
        let thread = crate::io::task::spawn_thread("writer", move || {
            for number in 1..200_000 {
                writer.store(end(number));
            }
        })
        .unwrap();
        let mut last = 0;
        while last < 199_999 {
            let seen = published.load();
            let number = u32::try_from(seen.offset.0).unwrap();
            assert_eq!(seen, end(number));
            assert!(number >= last);
            last = number;
        }
        thread.join();
    }
}
