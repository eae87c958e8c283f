"""MirrorMaker between two brokers, in both directions, as one process of its own."""

from harness.broker import free_port
from harness.programs import Program, jvm


class MirrorMaker(Program):
    """Copies topics of `a` that match `orders.*` to `b`, and those of `b` that match `letters.*` to `a`; with
    `exactly_once` in transactions that hold the offsets of the source too."""

    def __init__(self, folder, a, b, exactly_once=False):
        lines = {
            "clusters": "a, b",
            "a.bootstrap.servers": a.bootstrap,
            "b.bootstrap.servers": b.bootstrap,
            "a->b.enabled": "true",
            "b->a.enabled": "true",
            "a->b.topics": "orders.*",
            "b->a.topics": "letters.*",
            "groups": "readers.*",
            "sync.group.offsets.enabled": "true",
            "offset.lag.max": 0,
            "tasks.max": 2,
            "offset.storage.partitions": 2,
            "status.storage.partitions": 1,
        }
        one = ("replication.factor", "config.storage.replication.factor", "offset.storage.replication.factor", "status.storage.replication.factor",
               "checkpoints.topic.replication.factor", "heartbeats.topic.replication.factor", "offset-syncs.topic.replication.factor")
        seconds = ("refresh.topics", "refresh.groups", "sync.topic.configs", "emit.checkpoints", "emit.heartbeats", "sync.group.offsets")
        lines.update(dict.fromkeys(one, 1))
        lines.update({f"{name}.interval.seconds": 1 for name in seconds})
        # What a worker is told goes by the cluster that it writes to.
        worker = {
            "offset.flush.interval.ms": 500,
            "session.timeout.ms": 6000,
            "scheduled.rebalance.max.delay.ms": 500,
            "heartbeat.interval.ms": 1000,
            "producer.transaction.timeout.ms": 6000,
            "plugin.discovery": "service_load",
            "exactly.once.source.support": "enabled" if exactly_once else "disabled",
        }
        lines.update({f"{cluster}.{name}": value for cluster in "ab" for name, value in worker.items()})
        if exactly_once:
            lines.update({"dedicated.mode.enable.internal.rest": "true", "listeners": f"http://127.0.0.1:{free_port()}"})
        config = folder / "mirror.properties"
        config.write_text("".join(f"{k} = {v}\n" for k, v in lines.items()))
        super().__init__(folder, "mirror", jvm(
            "mirror", "org.apache.kafka.connect.mirror.MirrorMaker", str(config), memory=512))

