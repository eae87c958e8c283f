//! What clients ask before anything else: versions, topics, the cluster.

pub(super) mod api_versions;
pub(super) mod describe_cluster;
pub(super) mod describe_quorum;
pub(super) mod describe_topic_partitions;
pub(super) mod metadata;
pub(super) mod operations;
mod partition_view;
