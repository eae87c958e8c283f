//! `docs/protocol.md` from the version table.

use crate::protocol::versions;
use crate::protocol::versions::Api;
use crate::protocol::versions::NEVER;
use std::fmt::Write;

const HEAD: &str = "\
# Protocol

What this broker offers of the Apache Kafka 4.4 protocol. This page is made from the version table in
`src/protocol/versions.rs`; `DOHLE_BLESS=1 cargo test protocol_page` writes it anew.

A request with another key or version closes the connection, as Apache Kafka does, but for ApiVersions. Versions in the
compact form with tag sections (KIP-482) begin where \"flexible from\" says. \"Shown\" is the range in the ApiVersions answer
where it differs from what is served. Unknown tagged fields and bytes behind the last field are
skipped; what is no UTF-8 in a string becomes U+FFFD, as in Java.

| key | API | served | shown | flexible from | notes |
|---:|---|---|---|---|---|
";

/// The levels are those of `cluster::controller::features`, which a test compares.
const FEATURES: &str = "
## Features

Clients and tools are told of these features (KIP-584); a new cluster has each at its highest level. `kafka-features.sh`
changes them.

| feature | levels | what the highest gives |
|---|---|---|
| `eligible.leader.replicas.version` | 0-1 | Eligible leader replicas are kept (KIP-966); `min.insync.replicas` is one for all brokers. |
| `group.version` | 0-1 | Consumer groups of the newer protocol (KIP-848). |
| `metadata.version` | 7-33 | 4.4-IV2; 7 is 3.3-IV3. |
| `share.version` | 0-2 | Share groups (KIP-932), with dead-letter topics (KIP-1191). |
| `streams.version` | 0-1 | Streams groups (KIP-1071). |
| `transaction.version` | 0-2 | A new epoch with each end of a transaction, partitions that join by the first write (KIP-890). |

Apache Kafka also tells of `kraft.version`, whose level 1 means that controllers can be added and removed. There is one
controller here, so the feature is not offered. `kafka-features.sh upgrade --release-version` names it too and is refused as a
whole; features are raised by name, as in `upgrade --metadata 4.4 --feature share.version=2`.
";

/// The page.
pub fn page() -> String {
    let mut page = String::from(HEAD);
    for api in versions::all() {
        let flexible =
            if api.flexible_from == NEVER { String::from("never") } else { api.flexible_from.to_string() };
        let served = range(api.min, api.max);
        let shown = shown(api);
        let written =
            writeln!(page, "| {} | {} | {served} | {shown} | {flexible} | {} |", api.key, api.name, api.note);
        debug_assert!(written.is_ok(), "writing to a string does not fail");
    }
    page.push_str(FEATURES);
    page
}

fn range(min: i16, max: i16) -> String {
    if min == max { min.to_string() } else { format!("{min}-{max}") }
}

fn shown(api: &Api) -> String {
    if api.advertised_min == api.min { String::new() } else { range(api.advertised_min, api.max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_page_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/protocol.md");
        if std::env::var_os("DOHLE_BLESS").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(found, page(), "docs/protocol.md is stale: run DOHLE_BLESS=1 cargo test protocol_page");
    }
}
