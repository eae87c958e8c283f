//! Settings that Kafka does not have.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::String, "cluster.id", None).used().doc(
        "The id a new cluster gets when its first data folder is made. Without it a random one is drawn. \
         Also read from the environment variable `CLUSTER_ID`.",
    ),
    Definition::new(Kind::List, "dohle.admin.listeners", Some("127.0.0.1:9644")).used().doc(
        "Where `/metrics`, `/live` and `/ready` are served over HTTP, as `HOST:PORT` separated by commas; port 0 takes \
         a free one, and an empty value turns them off. Nobody has to authenticate. When the default port is taken the \
         broker starts without them, with a warning; an address that was set must be free.",
    ),
    Definition::new(Kind::Int, "dohle.client.metrics.series.max", Some("5000")).at_least(0).used().doc(
        "How many figures that clients push about themselves (KIP-714) `/metrics` shows, of all clients together. Those \
         beyond are dropped and counted. Also how many clients it shows of each kind of quota.",
    ),
    Definition::new(Kind::Long, "dohle.coordinator.memory.max.bytes", Some("268435456")).at_least(1048576).used().doc(
        "How many bytes the committed offsets of all groups of this broker may take, and as many the transactional ids, \
         and as many what is kept of share-partitions. Further ones are told to try again later, and the log says so.",
    ),
    Definition::new(Kind::Long, "dohle.group.memory.max.bytes", Some("67108864")).at_least(1048576).used().doc(
        "How many bytes the members of all groups of this broker may take together: their ids, subscriptions and \
         assignments. Further members are told to try again later, and the log says so.",
    ),
    Definition::new(Kind::Boolean, "dohle.io.uring.enable", Some("true")).used().doc(
        "Whether io_uring may be used for writing. With `false`, or where the kernel forbids it, \
         a small pool of threads writes instead.",
    ),
    Definition::new(Kind::Int, "dohle.log.open.files.max", Some("1024")).at_least(16).used().doc(
        "How many closed segments' files stay open for readers. More partitions than that are no trouble: \
         files are opened again on demand.",
    ),
    Definition::new(Kind::Int, "dohle.metrics.partitions.max", Some("2000")).at_least(0).used().doc(
        "How many partitions, and how many topics, `/metrics` shows by name, in the order of their names. Those beyond \
         count in the broker's sums only.",
    ),
    Definition::new(Kind::String, "log.flush.acks", Some("replicated"))
        .range(Range::OneOf(&["replicated", "always", "never"]))
        .used()
        .doc(
            "When a write with acks=all is on stable storage before it is answered. `replicated`: where the \
             leader is the only replica in sync. `always`: in every case. `never`: as Kafka does it, in no case.",
        ),
];
