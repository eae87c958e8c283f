//! What clients ask before anything else: versions, topics, the cluster.

pub(super) mod api_versions;
