//! The offset checkpoints of one log directory, and what stands in them.
//!
//! Two moments may not wait for the next regular write. A recovery point must be lowered in its file *before* a log
//! is truncated below it, or a crash would make recovery trust bytes that were never synced. And the entries of a
//! deleted partition must be gone before a partition of the same name begins, or it would inherit them.

use crate::base::Offset;
use crate::base::TopicPartition;
use crate::log::checkpoint;
use crate::log::checkpoint::Offsets;
use crate::log::directory::Directory;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::writer::is_full;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The files' content as far as this process read or wrote it.
#[derive(Debug, Default)]
pub(crate) struct Checkpoints {
    files: Mutex<BTreeMap<&'static str, Offsets>>,
}

/// The files.
pub(crate) const NAMES: [&str; 4] =
    [layout::RECOVERY_POINTS, layout::LOG_STARTS, layout::HIGH_WATERMARKS, layout::CLEANER_OFFSETS];

impl Checkpoints {
    /// What was read at the start.
    pub(crate) fn seed(&self, name: &'static str, offsets: Offsets) {
        self.files.lock().insert(name, offsets);
    }

    /// Writes a file anew when what `collect` gives differs from what stands in it. A full device is met again next
    /// time; every other failure takes the directory offline.
    /// Whether the file says now what it should.
    pub(crate) fn write(
        &self,
        directory: &Directory,
        name: &'static str,
        collect: impl FnOnce() -> Offsets,
    ) -> bool {
        let mut files = self.files.lock();
        // Collected under the lock: a recovery point that is lowered meanwhile is either seen here or written later.
        let offsets = collect();
        if files.get(name) == Some(&offsets) {
            return true;
        }
        if directory.check().is_err() {
            return false;
        }
        if let Err(error) = write_file(directory, name, &offsets) {
            tracing::warn!(directory = %directory.path.display(), name, %error, "cannot write checkpoint");
            return false;
        }
        files.insert(name, offsets);
        true
    }

    /// Lowers a partition's offset in a file, at once, if it stands higher there.
    pub(crate) fn lower(
        &self,
        directory: &Directory,
        name: &'static str,
        (partition, to): (&TopicPartition, Offset),
    ) -> Result<(), Error> {
        let mut files = self.files.lock();
        let Some(offsets) = files.get_mut(name) else { return Ok(()) };
        match offsets.get(partition).copied() {
            Some(written) if written > to => change(directory, name, offsets, |offsets| {
                offsets.insert(partition.clone(), to);
            }),
            _ => Ok(()),
        }
    }

    /// A partition's offset in a file.
    pub(crate) fn get(&self, name: &'static str, partition: &TopicPartition) -> Option<Offset> {
        self.files.lock().get(name)?.get(partition).copied()
    }

    /// Writes a partition's offset into a file, at once.
    pub(crate) fn set(
        &self,
        directory: &Directory,
        name: &'static str,
        (partition, to): (&TopicPartition, Offset),
    ) -> Result<(), Error> {
        let mut files = self.files.lock();
        let offsets = files.entry(name).or_default();
        let before = offsets.insert(partition.clone(), to);
        if before == Some(to) {
            return Ok(());
        }
        let written = write_file(directory, name, offsets);
        if written.is_err() {
            match before {
                Some(before) => offsets.insert(partition.clone(), before),
                None => offsets.remove(partition),
            };
        }
        written
    }

    /// Takes a partition out of every file it stands in, at once.
    pub(crate) fn remove(&self, directory: &Directory, partition: &TopicPartition) -> Result<(), Error> {
        let mut files = self.files.lock();
        for name in NAMES {
            if let Some(offsets) = files.get_mut(name).filter(|offsets| offsets.contains_key(partition)) {
                change(directory, name, offsets, |offsets| {
                    offsets.remove(partition);
                })?;
            }
        }
        Ok(())
    }
}

/// Changes a file. Where that fails its old content stays known, so that the next attempt does not take it for done.
fn change(
    directory: &Directory,
    name: &str,
    known: &mut Offsets,
    change: impl FnOnce(&mut Offsets),
) -> Result<(), Error> {
    let mut changed = known.clone();
    change(&mut changed);
    write_file(directory, name, &changed)?;
    *known = changed;
    Ok(())
}

fn write_file(directory: &Directory, name: &str, offsets: &Offsets) -> Result<(), Error> {
    directory.check()?;
    let file = directory.path.join(name);
    let text = checkpoint::encode_offsets(offsets);
    checkpoint::write_text(&directory.disk, &file, &text).map_err(|error| {
        if is_full(&error) {
            return Error::Full { dir: directory.path.clone() };
        }
        directory.fail(&format!("writing {} failed: {error}", file.display()));
        Error::io(&file, error)
    })
}
