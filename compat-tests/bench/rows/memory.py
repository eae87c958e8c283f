"""What is kept in memory: at the start and after load (P8), for idle partitions (P11) and for idle connections (P13)."""

import time

from bench import peers, settings
from bench.measure import load
from bench.rows.produce import LARGE, RETAINED, SMALL
from bench.settings import GIB, MIB, SECONDS, sized

PARTITIONS = sized(10_000, 1_000)
CONNECTIONS = sized(10_000, 1_000)
KIB = 1024


def fresh(name, work, **extra):
    """A broker for one measurement, alone on its core."""
    broker = peers.start(name, **extra)
    try:
        return work(broker)
    finally:
        peers.end(broker)


def process(bench):
    """P8: resident memory two seconds after the start, and after four GiB of P1's load."""
    bench.end_brokers()

    def one_pass(broker):
        time.sleep(2)
        started = broker.rss_mib()
        bench.topic(broker, "large", **RETAINED)
        load("produce", broker, topic="large", acks=1, in_flight=4, seconds=60, amount=sized(4 * GIB, 256 * MIB), **LARGE)
        return {"start": started, "after": broker.rss_mib()}

    values = bench.alternate(lambda name: fresh(name, one_pass), settings.PEERS, pairs=min(settings.PAIRS, 3))
    bench.figure("P8", "memory after start", "MiB", values["start"], ("most", 16), digits=1)
    bench.figure("P8", "memory after P1", "MiB", values["after"], ("most", 96), digits=1)


def idle_partitions(bench):
    """P11: memory and open files of a partition that nobody uses, and what many of them cost a producer."""
    bench.end_brokers()
    topics = PARTITIONS // 1000

    def one_pass(broker):
        time.sleep(2)
        load("topic", broker, topic="few", partitions=10)
        few = spread(broker, "few", 1, 10)
        rss, files = broker.rss_mib(), sum(peers.open_files(broker))
        load("topic", broker, topic="many", partitions=1000, topics=topics)
        time.sleep(2)
        found = {"memory": (broker.rss_mib() - rss) * KIB / PARTITIONS, "files": (sum(peers.open_files(broker)) - files) / PARTITIONS}
        among = spread(broker, "few", 1, 10)
        over = spread(broker, "many", topics, 1000)
        found.update({"few": few, "among": among / few, "over": over / few, "written": (broker.rss_mib() - rss) * KIB / PARTITIONS,
                      "written files": (sum(peers.open_files(broker)) - files) / PARTITIONS})
        return found

    def spread(broker, topic, topics, partitions):
        # Every partition is written at least once before the measured part.
        return load("produce", broker, "P11", topic=topic, topics=topics, partitions=partitions, acks=1, in_flight=4, **SMALL["1 KiB"],
                    warm_seconds=sized(15, 3) if topics * partitions > 10 else 2, seconds=max(SECONDS, 2))["us_per_request"]

    values = bench.alternate(lambda name: fresh(name, one_pass, queued_max_requests=500), settings.PEERS, pairs=min(settings.PAIRS, 3))
    bench.figure("P11", f"idle partition, of {PARTITIONS:,}: memory", "KiB", values["memory"], ("most", 4))
    bench.figure("P11", f"idle partition, of {PARTITIONS:,}: open and mapped files", "files", values["files"], ("most", 0))
    bench.figure("P11", "partition after writes to all: memory", "KiB", values["written"])
    bench.figure("P11", "partition after writes to all: open and mapped files", "files", values["written files"])
    bench.figure("P11", "produce 1 KiB to 10 partitions, no others: broker CPU", "us/request", values["few"], digits=1)
    bench.figure("P11", f"the same 10 beside {PARTITIONS:,} idle ones, against that", "share", values["among"], ("most", 1.5))
    bench.figure("P11", f"to {PARTITIONS:,} partitions in turn, against that", "share", values["over"], ("most", 1.5))


def idle_connections(bench):
    """P13: memory of a connection that has said ApiVersions and waits."""
    bench.end_brokers()

    def one_pass(broker):
        time.sleep(2)
        load("idle", broker, connections=10, seconds=0.1)
        report = load("idle", broker, "P13", connections=CONNECTIONS, seconds=sized(10, 1))
        return {"memory": report["kib_per_connection"], "cpu": report["idle_cpu_share"] * 100}

    values = bench.alternate(lambda name: fresh(name, one_pass), settings.PEERS, pairs=min(settings.PAIRS, 3))
    bench.figure("P13", f"idle connection, of {CONNECTIONS:,}: memory", "KiB", values["memory"], ("most", 8), digits=2)
    bench.figure("P13", f"{CONNECTIONS:,} idle connections: broker CPU", "% of a core", values["cpu"])
