//! Doors to the readers of the metadata log and of its snapshots, for `fuzz/`.

use super::replay::Replay;
use super::snapshot;
use crate::cluster::Error;
use crate::cluster::Image;
use bytes::Bytes;

/// Reads batches of a metadata log into an image.
///
/// # Errors
/// What the broker would end with at its start.
pub fn log(bytes: &Bytes) -> Result<Image, Error> {
    let mut replay = Replay::of_log(Image::empty("fuzz"));
    replay.batches(bytes)?;
    Ok(replay.image)
}

/// Reads a snapshot of the metadata.
///
/// # Errors
/// Why the broker would pass it over.
pub fn snapshot(bytes: Bytes) -> Result<Image, Error> {
    snapshot::decode(bytes, "fuzz")
}
