//! The tables of `docs/architecture.md`: which room lies on which layer, which package lives in which room.

/// Rooms from the lowest layer to the highest. Rooms of one layer do not import each other.
const LAYERS: &[&[&str]] = &[
    &["base"],
    &["config", "metrics"],
    &["io"],
    &["record", "protocol"],
    &["log", "peer"],
    &["cluster", "tier"],
    &["replica", "security", "quota"],
    &["coordinator"],
    &["groups", "txn", "share"],
    &["broker"],
    &["net", "admin"],
    &["server"],
    &["cli"],
    &["main", "tidy"],
];

/// The layer of a room.
pub(super) fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// Packages with the paths that may use them.
pub(super) const PACKAGES: &[(&str, &[&str])] = &[
    ("io_uring", &["src/io/"]),
    ("libc", &["src/io/"]),
    ("rustix", &["src/io/"]),
    ("socket2", &["src/io/"]),
    ("tokio::net", &["src/io/"]),
    ("tokio::fs", &["src/io/"]),
    ("tokio::io", &["src/io/"]),
    ("tokio::time", &["src/io/"]),
    ("tokio::task", &["src/io/"]),
    ("tokio::runtime", &["src/io/"]),
    ("tokio::signal", &["src/io/"]),
    ("tokio::spawn", &["src/io/"]),
    ("rustls", &["src/io/tls.rs"]),
    ("kafka_protocol", &["src/protocol/", "src/broker/"]),
    ("zstd", &["src/record/codec"]),
    ("lz4_flex", &["src/record/codec"]),
    ("twox_hash", &["src/record/codec", "src/groups/"]),
    ("snap", &["src/record/codec"]),
    ("flate2", &["src/record/codec"]),
    ("siphasher", &["src/log/compact/"]),
    ("crc_fast", &["src/record/", "src/log/"]),
    ("dashmap", &["src/replica/registry.rs", "src/coordinator/runtime.rs", "src/quota/"]),
    ("prometheus", &["src/metrics/"]),
    (
        "regex",
        &[
            "src/base/pattern.rs",
            "src/txn/",
            "src/groups/",
            "src/broker/txn/",
            "src/broker/telemetry/",
            "src/cluster/controller/",
        ],
    ),
    ("regex_syntax", &["src/base/pattern.rs"]),
    ("java_properties", &["src/config/", "src/log/"]),
    ("serde_json", &["src/cluster/source/"]),
    ("openraft", &["src/cluster/source/quorum/"]),
    ("object_store", &["src/tier/store.rs"]),
    ("axum", &["src/admin/"]),
    ("clap", &["src/cli/"]),
    ("tracing_subscriber", &["src/cli/"]),
];

/// Packages that any room may use.
pub(super) const ANYWHERE: &[&str] =
    &["arc_swap", "bytes", "parking_lot", "thiserror", "tokio", "tracing", "uuid"];

/// What only `io/` may call.
pub(super) const ONLY_IN_IO: &[&str] =
    &["std::fs", "SystemTime::now", "Instant::now(", "thread::spawn", "thread::sleep", "std::env::set_var"];

/// Marks of work that is not finished.
pub(super) const UNFINISHED: &[&str] = &["todo!", "unimplemented!", "dbg!", "FIXME", "XXX:"];
