//! The files beside the metadata log that Apache Kafka keeps and expects.
//!
//! | file | content |
//! |---|---|
//! | `00000000000000000000-0000000000.checkpoint` | the records a new cluster begins with (Kafka 4.1 and later) |
//! | `bootstrap.checkpoint` | the same, one folder up (Kafka up to 4.0); only read |
//! | `quorum-state` | the epoch and its leader, JSON |

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::cluster::Error;
use crate::io::Disk;
use crate::io::durable;
use std::io;
use std::path::PathBuf;

/// Larger files of these kinds are damaged.
const SMALL_FILE_MAX: u64 = 1 << 20;
const QUORUM_STATE: &str = "quorum-state";

/// The folder of the metadata log.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    disk: Disk,
    path: PathBuf,
}

impl Folder {
    pub(super) fn new(disk: Disk, path: PathBuf) -> Folder {
        Folder { disk, path }
    }

    fn failed(&self, name: &str) -> impl FnOnce(io::Error) -> Error {
        let path = self.path.join(name);
        move |error| Error::File { path, error }
    }

    /// The names of the files in it.
    pub(super) fn names(&self) -> Result<Vec<String>, Error> {
        let entries = self.disk.list(&self.path).map_err(self.failed(""))?;
        Ok(entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect())
    }

    /// A whole file; `None` when there is none.
    pub(super) fn read(&self, name: &str, length_max: u64) -> Result<Option<Vec<u8>>, Error> {
        match self.disk.read(&self.path.join(name), length_max) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(name)(error)),
        }
    }

    /// Replaces a file, whole or not at all.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        durable::write_atomically(&self.disk, &self.path.join(name), content).map_err(self.failed(name))
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        durable::remove(&self.disk, &self.path.join(name)).map_err(self.failed(name))
    }

    /// The folder above: the log directory.
    pub(super) fn above(&self) -> Folder {
        let above = self.path.parent().map_or_else(PathBuf::new, PathBuf::from);
        Folder { disk: self.disk.clone(), path: above }
    }

    /// The epoch in `quorum-state`; `None` when there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, or says no epoch.
    pub(super) fn quorum_epoch(&self) -> Result<Option<LeaderEpoch>, Error> {
        let Some(bytes) = self.read(QUORUM_STATE, SMALL_FILE_MAX)? else { return Ok(None) };
        let damaged =
            |reason: String| self.failed(QUORUM_STATE)(io::Error::new(io::ErrorKind::InvalidData, reason));
        let state: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let epoch = state.get("leaderEpoch").and_then(serde_json::Value::as_i64);
        let epoch = epoch.and_then(|epoch| i32::try_from(epoch).ok());
        epoch.map(|epoch| Some(LeaderEpoch(epoch))).ok_or_else(|| damaged("no leaderEpoch".to_owned()))
    }

    /// Writes `quorum-state` as KRaft's `FileQuorumStateStore` does for a fixed set of voters: this node alone.
    pub(super) fn write_quorum_state(&self, node: BrokerId, epoch: LeaderEpoch) -> Result<(), Error> {
        let state = format!(
            "{{\"clusterId\":\"\",\"leaderId\":{node},\"leaderEpoch\":{epoch},\"votedId\":-1,\"appliedOffset\":0,\
             \"currentVoters\":[{{\"voterId\":{node}}}],\"data_version\":0}}"
        );
        self.write(QUORUM_STATE, state.as_bytes())
    }
}
