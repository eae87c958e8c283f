"""What compaction costs, and whom it disturbs (P16)."""

import os
import time

from bench import peers, settings
from bench.measure import load, touch
from bench.peers import cpu_seconds
from bench.settings import GIB, LARGEST, MIB, sized

BYTES = min(sized(10 * GIB, 256 * MIB), LARGEST)
RECORD = 1024
# Each key ten times: one record in ten stays.
KEYS = BYTES // RECORD // 10
PATIENCE = 900
# Somewhat less than the fastest compaction takes.
PROBED = sized(0.28 * BYTES / GIB, 0.5)


def run(bench):
    """P16: a log in which one record in ten is the last of its key is compacted, alone and beside a producer."""
    bench.end_brokers()

    def one_pass(name):
        broker = peers.start(name, log_cleaner_backoff_ms=100, **peers.FREEZABLE.get(name, {}))
        try:
            quiet = cleaning(broker, "alone")
            load("topic", broker, topic="beside", partitions=10)
            settle()
            touch("latency")
            alone = probe(broker)
            beside = []
            cleaning(broker, "disturbing", lambda: beside.append(probe(broker)))
            return {**quiet, "alone": alone, "beside": beside[0], "share": beside[0] / alone}
        finally:
            peers.end(broker)

    values = bench.alternate(one_pass, settings.PEERS, pairs=min(settings.PAIRS, 3))
    label = f"compaction of {BYTES / GIB:g} GiB, 10 % live keys"
    bench.figure("P16", f"{label}: broker CPU", "s/GiB", values["cpu"], ("ratio", 4), digits=3)
    bench.figure("P16", f"{label}: time", "s", values["seconds"], digits=1)
    bench.figure("P16", f"{label}: memory above that before", "MiB", values["memory"], digits=1)
    bench.figure("P16", "produce p99 alone, 1,000/s", "ms", values["alone"], digits=3)
    bench.figure("P16", "produce p99 beside a compaction, 1,000/s", "ms", values["beside"], digits=3)
    bench.figure("P16", "produce p99 beside a compaction, against alone", "share", values["share"], ("most", 1.3))


def cleaning(broker, topic, meanwhile=None):
    """Fills a topic, lets the broker compact it, and says what that took."""
    configs = f"segment.bytes={max(BYTES // 16, MIB)},min.cleanable.dirty.ratio=0.01,retention.ms=-1"
    load("topic", broker, topic=topic, configs=configs)
    load("produce", broker, topic=topic, acks=1, in_flight=4, records=100, bytes=RECORD, keys=KEYS, seconds=PATIENCE, amount=BYTES)
    settle()
    if meanwhile:
        touch("latency")
    before = broker.rss_mib()
    cpu, started = cpu_seconds(broker), time.monotonic()
    load("alter", broker, topic=topic, configs="cleanup.policy=compact")
    still = True
    if meanwhile:
        meanwhile()
        still = size(broker, topic) > BYTES // 4
    most = before
    if not still and not settings.QUICK:
        print("P16: the compaction ended before the producer was measured to the end")
    while size(broker, topic) > BYTES // 4:
        check(broker.alive() and time.monotonic() - started < PATIENCE, f"no compaction: {broker.log_tail()}")
        most = max(most, broker.rss_mib())
        time.sleep(0.02)
    return {"cpu": (cpu_seconds(broker) - cpu) / (BYTES / GIB), "seconds": time.monotonic() - started, "memory": most - before}


def settle():
    """Lets the disk come to rest."""
    os.sync()
    time.sleep(sized(2, 0.5))


def size(broker, topic):
    """Bytes of the topic's records that are not given up for deletion."""
    total = 0
    for path in broker.data.glob(f"{topic}-0/*.log"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            pass
    return total


def probe(broker):
    """p99 of a producer."""
    return load("latency", broker, "P16", touched=True, topic="beside", partitions=10, rate=1000, bytes=RECORD, acks=1,
                in_flight=5, warm_seconds=0.3, seconds=PROBED)["ack_p99"]


def check(holds, otherwise):
    if not holds:
        raise RuntimeError(otherwise)
