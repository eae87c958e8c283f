//! Messages of Kafka 4.4 in versions that the `kafka-protocol` crate (made from 4.1) lacks, by our own codecs.
//!
//! ListOffsets 11 is not here: its bytes are those of version 10, which `codec` uses.

pub mod api_versions;
pub mod delete_groups;
pub mod describe_log_dirs;
pub mod offset_commit;
pub mod offset_fetch;
pub mod share_acknowledge;
pub mod share_offsets;
pub mod share_state;
pub mod streams_group_describe;
pub mod streams_group_heartbeat;
pub mod streams_group_topology_description_update;
pub mod txn_offset_commit;
pub mod write_txn_markers;

#[cfg(test)]
mod share_tests;
#[cfg(test)]
mod tests;
