//! Bytes that are still on disk.

use crate::io::disk::File;

/// A range of an open file, on its way from a log to a socket without passing through this process. It keeps its
/// file open, so that deletion does not hurt it; after a truncation the sender meets the end of the file early.
#[derive(Clone, Debug)]
pub struct FileSlice {
    /// The file.
    pub file: File,
    /// Where the range begins, in bytes.
    pub position: u64,
    /// How many bytes it has.
    pub length: u64,
}

impl FileSlice {
    /// Where the range ends (exclusive); saturates.
    pub fn end(&self) -> u64 {
        self.position.saturating_add(self.length)
    }
}
