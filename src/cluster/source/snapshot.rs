//! Snapshots of the metadata: files `<offset>-<epoch>.checkpoint` beside the log, as KRaft writes them.
//!
//! ```text
//! control batch: snapshot header | data batches: the image's records | control batch: snapshot footer
//! ```
//! Offsets inside count from 0; every batch has the epoch of the name. The name's offset is the end (exclusive) of
//! the log that the snapshot contains.

use super::batches;
use super::files::Folder;
use super::replay::Replay;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::OffsetAndEpoch;
use crate::base::Timestamp;
use crate::cluster::Error;
use crate::cluster::image::Image;
use crate::cluster::records::Record;
use crate::record::CheckedBatch;
use crate::record::control;
use bytes::Bytes;
use tracing::warn;

const SUFFIX: &str = ".checkpoint";
/// How many records a batch of a snapshot has.
const RECORDS_PER_BATCH: usize = 1000;
/// Larger snapshots are refused: nothing this version writes comes near.
const SIZE_MAX: u64 = 4 << 30;

/// The file name of a snapshot.
pub(super) fn name(id: OffsetAndEpoch) -> String {
    format!("{:020}-{:010}{SUFFIX}", id.offset.0, id.epoch.0)
}

/// The snapshot with this file name; `None` for other files.
fn parse_name(name: &str) -> Option<OffsetAndEpoch> {
    let (offset, epoch) = name.strip_suffix(SUFFIX)?.split_once('-')?;
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(offset, 20) || !digits(epoch, 10) {
        return None;
    }
    Some(OffsetAndEpoch { offset: Offset(offset.parse().ok()?), epoch: LeaderEpoch(epoch.parse().ok()?) })
}

/// All snapshots in the folder, oldest first.
pub(super) fn list(folder: &Folder) -> Result<Vec<OffsetAndEpoch>, Error> {
    let mut found: Vec<OffsetAndEpoch> = folder.names()?.iter().filter_map(|name| parse_name(name)).collect();
    found.sort();
    Ok(found)
}

/// The bytes of a snapshot.
pub(super) fn encode(
    image: &Image,
    id: OffsetAndEpoch,
    last_contained: Timestamp,
    now: Timestamp,
) -> Vec<u8> {
    let records: Vec<Record> = image.records().collect();
    encode_records(&records, image.metadata_version(), id.epoch, (last_contained, now))
}

/// The bytes of a snapshot with these records; the times are that of the last record contained, and now.
pub(super) fn encode_records(
    records: &[Record],
    metadata_version: i16,
    epoch: LeaderEpoch,
    (last_contained, now): (Timestamp, Timestamp),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = Offset::ZERO;
    let mut add = |batch: &CheckedBatch| {
        bytes.extend_from_slice(&batch.head(next, epoch));
        bytes.extend_from_slice(&batch.rest());
        next = next.checked_add(i64::from(batch.header().record_count)).expect("snapshots are small");
    };
    add(&control::snapshot_header(last_contained, now));
    for part in records.chunks(RECORDS_PER_BATCH) {
        add(&batches::of_records(part, metadata_version, now));
    }
    add(&control::snapshot_footer(now));
    bytes
}

/// The image of one snapshot.
///
/// # Errors
/// The file is missing, damaged or not complete.
pub(super) fn load(folder: &Folder, id: OffsetAndEpoch, cluster_id: &str) -> Result<Image, Error> {
    let bytes = folder.read(&name(id), SIZE_MAX)?.ok_or_else(|| Error::Log("snapshot is gone".to_owned()))?;
    let mut image = decode(Bytes::from(bytes), cluster_id)?;
    image.advance(id.offset, id.epoch);
    Ok(image)
}

/// The image that a snapshot's bytes make.
pub(super) fn decode(bytes: Bytes, cluster_id: &str) -> Result<Image, Error> {
    let mut replay = Replay::of_snapshot(cluster_id);
    let used = replay.batches(&bytes)?;
    let whole = used == bytes.len() && !replay.in_transaction() && ends_with_footer(&bytes);
    if !whole {
        return Err(Error::Log("snapshot has no footer".to_owned()));
    }
    Ok(replay.image)
}

fn ends_with_footer(bytes: &Bytes) -> bool {
    let Some((position, header)) = crate::record::walk(bytes).filter_map(Result::ok).last() else {
        return false;
    };
    let last = bytes.slice(position..);
    let record = crate::record::records_of(&last, 1 << 16).ok().and_then(|mut records| records.next()?.ok());
    let key = record.and_then(|record| record.key);
    let kind = key.and_then(|key| control::ControlType::parse(&key).ok());
    header.is_control() && kind == Some(control::ControlType::SnapshotFooter)
}

/// The newest snapshot that can be read; damaged ones are passed over with a warning.
pub(super) fn latest(folder: &Folder, cluster_id: &str) -> Result<Option<Image>, Error> {
    for id in list(folder)?.into_iter().rev() {
        match load(folder, id, cluster_id) {
            Ok(image) => return Ok(Some(image)),
            Err(error) => warn!(snapshot = name(id), "passing over a snapshot that cannot be read: {error}"),
        }
    }
    Ok(None)
}
