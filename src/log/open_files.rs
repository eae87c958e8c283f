//! A bounded number of open segment files: partitions are not limited by open files.
//!
//! Every segment has a [`Slot`]. Opening beyond the limit closes the file that was not used for longest (second
//! chance). A closed file that a reader still holds stays open until the reader lets go.

use crate::io::disk::File;
use crate::io::process;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// The place for one open file.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    file: Mutex<Option<File>>,
    used: AtomicBool,
}

impl Slot {
    /// Closes the file, if it is open.
    pub(crate) fn close(&self) {
        *self.file.lock() = None;
    }

    /// Whether a file is open here.
    pub(crate) fn is_open(&self) -> bool {
        self.file.lock().is_some()
    }
}

/// The files that are open.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    max: usize,
    open: Mutex<VecDeque<Weak<Slot>>>,
}

impl OpenFiles {
    /// At most `max` files (at least one).
    pub(crate) fn new(max: usize) -> OpenFiles {
        OpenFiles { max: max.max(1), open: Mutex::new(VecDeque::new()) }
    }

    /// The slot's file, opened by `open` when it is not.
    ///
    /// # Errors
    /// Those of `open`. When the system has no more files to give, files that are open here are given back first.
    pub(crate) fn get(&self, slot: &Arc<Slot>, open: impl Fn() -> io::Result<File>) -> io::Result<File> {
        slot.used.store(true, Ordering::Relaxed);
        loop {
            let mut place = slot.file.lock();
            if let Some(file) = place.as_ref() {
                return Ok(file.clone());
            }
            match open() {
                Ok(file) => {
                    *place = Some(file.clone());
                    drop(place);
                    self.admit(slot);
                    return Ok(file);
                }
                Err(error) => {
                    drop(place);
                    if !process::is_out_of_files(&error) || !self.give_back() {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Closes the older half of the open files; `false` when there is none.
    fn give_back(&self) -> bool {
        let mut open = self.open.lock();
        let half = open.len().div_ceil(2);
        for slot in open.drain(..half) {
            if let Some(slot) = slot.upgrade() {
                slot.close();
            }
        }
        half > 0
    }

    fn admit(&self, slot: &Arc<Slot>) {
        let mut open = self.open.lock();
        open.push_back(Arc::downgrade(slot));
        let mut chances = open.len();
        while open.len() > self.max {
            let Some(oldest) = open.pop_front() else { return };
            let Some(oldest) = oldest.upgrade() else { continue };
            if chances > 0 && oldest.used.swap(false, Ordering::Relaxed) && !Arc::ptr_eq(&oldest, slot) {
                chances -= 1;
                open.push_back(Arc::downgrade(&oldest));
            } else {
                oldest.close();
            }
        }
    }

    /// Closes every file that was not used since the last sweep.
    pub(crate) fn sweep(&self) {
        self.open.lock().retain(|slot| {
            let Some(slot) = slot.upgrade() else { return false };
            let keep = slot.used.swap(false, Ordering::Relaxed) && slot.is_open();
            if !keep {
                slot.close();
            }
            keep
        });
    }

    /// How many slots hold an open file.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.open.lock().iter().filter_map(Weak::upgrade).filter(|slot| slot.is_open()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::Disk;
    use crate::io::disk::Open;

    /// EMFILE.
    const TOO_MANY_OPEN: i32 = 24;

    #[test]
    fn the_limit_holds_and_closed_files_open_again() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::system();
        let files = OpenFiles::new(3);
        let slots: Vec<Arc<Slot>> = (0..10).map(|_| Arc::new(Slot::default())).collect();
        for round in 0..3 {
            for (number, slot) in slots.iter().enumerate() {
                let path = dir.path().join(number.to_string());
                let file = files.get(slot, || disk.open(&path, Open::Create)).unwrap();
                file.write_at(&[round], 0).unwrap();
                assert!(files.count() <= 3);
            }
        }
        files.sweep();
        files.sweep();
        assert_eq!(files.count(), 0);
    }

    #[test]
    fn when_the_system_has_no_more_files_older_ones_are_given_back() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Disk::system();
        let files = OpenFiles::new(100);
        let slots: Vec<Arc<Slot>> = (0..10).map(|_| Arc::new(Slot::default())).collect();
        let open = |number: usize, system_has: usize| {
            let path = dir.path().join(number.to_string());
            let slot = &slots[number];
            files.get(slot, || {
                let others = slots.iter().filter(|other| !Arc::ptr_eq(other, slot) && other.is_open());
                if others.count() < system_has {
                    disk.open(&path, Open::Create)
                } else {
                    Err(io::Error::from_raw_os_error(TOO_MANY_OPEN))
                }
            })
        };
        for (number, slot) in slots.iter().enumerate() {
            open(number, 4).unwrap();
            assert!(slot.is_open() && files.count() <= 4);
        }
        files.sweep();
        files.sweep();
        let error = open(0, 0).unwrap_err();
        assert!(process::is_out_of_files(&error), "nothing to give back: {error}");
        let other = files.get(&slots[0], || Err(io::ErrorKind::PermissionDenied.into())).unwrap_err();
        assert!(!process::is_out_of_files(&other));
    }
}
