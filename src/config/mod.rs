//! Every setting, defined once: name, type, default, valid values, meaning.
//!
//! Promises: a value that cannot work is refused with one sentence before anything starts; each room gets its
//! own small struct. Never: reads a file or the environment itself (it is given their text), or lets a room ask
//! for a setting by name, apart from the answers about settings. Called by: every room.

mod consumer_groups;
mod define;
#[cfg(test)]
pub mod differences;
#[cfg(test)]
mod docs;
mod group_ranges;
mod keys;
mod listener;
mod load;
mod offset_reset;
mod server;
mod share_groups;
mod streams_groups;
mod topic;
mod values;

pub use consumer_groups::ConsumerGroupSettings;
pub use define::{Definition, Invalid, Kind, Mode, Range, Synonym};
pub use keys::{
    broker_key, broker_keys, client_metrics_keys, group_keys, listener_setting, topic_key, topic_keys,
};
pub use listener::{HostPort, ListenerConfig, SecurityProtocol};
pub use load::{LoadError, Loaded, Sources, load};
pub use offset_reset::OffsetReset;
pub use server::{
    AdminSettings, CleanerSettings, FlushAcks, GroupSettings, MetadataSettings, NetworkSettings,
    OffsetsSettings, QuotaSettings, ServerConfig, StorageSettings, TelemetrySettings, TopicSettings,
};
pub use streams_groups::StreamsGroupSettings;
pub use topic::{Cleanup, Compression, ThrottledReplicas, TimestampType, TopicConfig};
