//! Settings of the node, its roles, the controller and the metadata log.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Boolean, "auto.leader.rebalance.enable", Some("true"))
        .doc("Whether leadership moves back to preferred replicas by itself."),
    Definition::new(Kind::Int, "broker.heartbeat.interval.ms", Some("2000"))
        .doc("Time between two signs of life of a broker to its controller."),
    Definition::new(Kind::Int, "broker.id", Some("-1")).used().doc("Older name of `node.id`."),
    Definition::new(Kind::String, "broker.rack", None)
        .used()
        .doc("Where the broker stands; told to clients and used when replicas are placed."),
    Definition::new(Kind::Int, "broker.session.timeout.ms", Some("9000"))
        .doc("After this long without a sign of life a broker counts as gone."),
    Definition::new(Kind::Boolean, "controlled.shutdown.enable", Some("true"))
        .doc("Whether leadership is handed over before a broker stops."),
    Definition::new(Kind::List, "controller.listener.names", None).used().doc(
        "Listeners that belong to the controller. They are accepted and stay idle while one node is \
         the cluster.",
    ),
    Definition::new(Kind::Long, "controller.performance.always.log.threshold.ms", Some("2000"))
        .at_least(0)
        .internal()
        .doc("A controller event that takes longer is logged."),
    Definition::new(Kind::Long, "controller.performance.sample.period.ms", Some("60000"))
        .at_least(100)
        .internal()
        .doc("Time between two log lines about the controller's speed."),
    Definition::new(Kind::Int, "controller.quorum.append.linger.ms", Some("25"))
        .at_least(0)
        .doc("How long the leader of the metadata quorum gathers records before it writes."),
    Definition::new(Kind::Boolean, "controller.quorum.auto.join.enable", Some("false"))
        .doc("Whether a new controller joins the quorum by itself."),
    Definition::new(Kind::List, "controller.quorum.bootstrap.servers", Some(""))
        .doc("Controllers to ask first, as `HOST:PORT`."),
    Definition::new(Kind::Int, "controller.quorum.election.backoff.max.ms", Some("1000"))
        .at_least(0)
        .doc("Longest pause between two elections."),
    Definition::new(Kind::Int, "controller.quorum.election.timeout.ms", Some("1000"))
        .at_least(0)
        .doc("How long a vote is waited for before the next one."),
    Definition::new(Kind::Int, "controller.quorum.fetch.max.bytes", Some("1048576"))
        .at_least(1)
        .doc("Most bytes in one answer to a fetch of the metadata log."),
    Definition::new(Kind::Int, "controller.quorum.fetch.snapshot.max.bytes", Some("1048576"))
        .at_least(1)
        .doc("Most bytes in one answer to a fetch of a metadata snapshot."),
    Definition::new(Kind::Int, "controller.quorum.fetch.timeout.ms", Some("2000"))
        .at_least(0)
        .doc("How long a voter goes without its leader, and a leader without its voters, before they act."),
    Definition::new(Kind::Int, "controller.quorum.request.timeout.ms", Some("2000"))
        .at_least(0)
        .doc("How long an answer of another controller is waited for."),
    Definition::new(Kind::Int, "controller.quorum.retry.backoff.ms", Some("20"))
        .at_least(0)
        .doc("First pause before a request to another controller is sent again."),
    Definition::new(Kind::List, "controller.quorum.voters", Some("")).used().doc(
        "Voters of the metadata quorum, as `ID@HOST:PORT`. One node is the cluster for now, so only \
         this node may be named.",
    ),
    Definition::new(Kind::Int, "controller.quota.window.num", Some("11"))
        .at_least(1)
        .used()
        .doc("Windows kept for the rate limit of changes to topics."),
    Definition::new(Kind::Int, "controller.quota.window.size.seconds", Some("1"))
        .at_least(1)
        .used()
        .doc("Length of a window of the rate limit of changes to topics."),
    Definition::new(Kind::Int, "controller.socket.timeout.ms", Some("30000"))
        .doc("How long the controller waits for an answer of a broker."),
    Definition::new(Kind::Int, "initial.broker.registration.timeout.ms", Some("60000"))
        .doc("How long a starting broker waits for the controller to accept it."),
    Definition::new(Kind::Long, "internal.metadata.delete.delay.millis", Some("60000"))
        .internal()
        .doc("Wait before old metadata snapshots and segments leave the disk."),
    Definition::new(Kind::Int, "internal.metadata.log.segment.bytes", None)
        .internal()
        .doc("Segment size of the metadata log, for tests."),
    Definition::new(Kind::Int, "internal.metadata.max.batch.size.in.bytes", Some("8388608"))
        .internal()
        .doc("Largest batch of the metadata log."),
    Definition::new(Kind::Long, "leader.imbalance.check.interval.seconds", Some("300"))
        .at_least(1)
        .doc("How often the spread of leaders is looked at."),
    Definition::new(Kind::String, "metadata.log.dir", None)
        .used()
        .doc("The folder of the metadata log; the first of `log.dirs` without it."),
    Definition::new(Kind::Long, "metadata.log.max.record.bytes.between.snapshots", Some("20971520"))
        .at_least(1)
        .used()
        .doc("Bytes of metadata records after which a snapshot is made."),
    Definition::new(Kind::Long, "metadata.log.max.snapshot.interval.ms", Some("3600000"))
        .at_least(0)
        .used()
        .doc("Time after which a snapshot is made when there is something new; 0 for no such rule."),
    Definition::new(Kind::Int, "metadata.log.segment.bytes", Some("1073741824"))
        .at_least(8388608)
        .used()
        .doc("Segment size of the metadata log."),
    Definition::new(Kind::Long, "metadata.log.segment.ms", Some("604800000"))
        .used()
        .doc("Age at which a segment of the metadata log is closed."),
    Definition::new(Kind::Int, "metadata.max.idle.interval.ms", Some("500"))
        .at_least(0)
        .doc("How often an idle controller writes a record that shows that it is there."),
    Definition::new(Kind::Long, "metadata.max.retention.bytes", Some("104857600"))
        .used()
        .doc("Space for the metadata log and its snapshots before old ones go."),
    Definition::new(Kind::Long, "metadata.max.retention.ms", Some("604800000"))
        .doc("How long the metadata log and its snapshots stay."),
    Definition::new(Kind::Int, "node.id", Some("1")).at_least(0).used().doc(
        "The number of this node in its cluster. It is written into the data folders; another number \
         is refused there.",
    ),
    Definition::new(Kind::List, "process.roles", None)
        .range(Range::ListOf(&["broker", "controller"]))
        .used()
        .doc("What the node is. One node is broker and controller for now."),
    Definition::new(Kind::Long, "server.max.startup.time.ms", Some("9223372036854775807"))
        .at_least(0)
        .internal()
        .doc("How long a start may take."),
    Definition::new(Kind::Boolean, "unclean.leader.election.enable", Some("false"))
        .mode(Mode::ClusterWide)
        .doc("Default of a topic's `unclean.leader.election.enable`."),
    Definition::new(Kind::Long, "unclean.leader.election.interval.ms", Some("300000"))
        .at_least(1)
        .internal()
        .doc("How often partitions without a leader are looked at for an unclean election."),
    Definition::new(Kind::Boolean, "unstable.api.versions.enable", Some("false"))
        .internal()
        .doc("Whether versions of requests that are not released are offered."),
    Definition::new(Kind::Boolean, "unstable.feature.versions.enable", Some("false"))
        .internal()
        .doc("Whether feature levels that are not released may be used."),
];
