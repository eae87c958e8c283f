"""Produce CPU: large batches by the GiB, small requests by the request."""

from bench.measure import load
from bench.settings import GIB, MIB, SECONDS, sized

# Little is kept, so that pages are recycled.
RETAINED = {"retention_bytes": 128 * MIB, "segment_bytes": 64 * MIB, "file_delete_delay_ms": 100}
LARGE = {"records": 900, "bytes": 1024}
AMOUNT = sized(GIB, 256 * MIB)
# Records, and bytes of a value, of requests of that size.
SMALL = {"1 KiB": {"records": 1, "bytes": 940}, "15 KiB": {"records": 15, "bytes": 1010}}
# Connections, and requests in flight on each.
LOADS = {"1 in flight": (1, 1), "4 in flight": (1, 4), "16 connections": (16, 1)}


def large_pass(bench, broker, row="P1"):
    topic = bench.topic(broker, "large", **RETAINED)
    return load("produce", broker, row, topic=topic, acks=1, in_flight=4, seconds=30, amount=AMOUNT, **LARGE)


def large(bench):
    """P1: batches of 900 records of 1 KiB, acks=1, one connection, four in flight."""

    def one_pass(broker):
        report = large_pass(bench, broker)
        return {"cpu": report["s_per_gib"], "rate": report["mib_per_s"]}

    values = bench.compare(one_pass)
    bench.figure("P1", "produce 900 x 1 KiB, acks=1: broker CPU", "s/GiB", values["cpu"], ("ratio", 4), digits=3)
    bench.figure("P1", "produce 900 x 1 KiB, acks=1: rate", "MiB/s", values["rate"], more=True, digits=0)


def small(bench):
    """P2: CPU of a small request: one and four in flight on one connection, and one on each of sixteen."""

    def one(broker, topic, shape, load_of):
        connections, flight = load_of
        return load("produce", broker, "P2", topic=topic, acks=1, connections=connections, in_flight=flight, **shape,
                    warm_seconds=0.3, seconds=SECONDS)["us_per_request"]

    def one_pass(broker):
        topic = bench.topic(broker, "small", **RETAINED)
        return {(label, how): one(broker, topic, shape, LOADS[how]) for label, shape in SMALL.items() for how in LOADS}

    for (label, how), values in bench.compare(one_pass).items():
        values["floor"] = bench.floor(lambda server: one(server, "small", SMALL[label], LOADS[how]), **SMALL[label])
        bench.figure("P2", f"produce {label}, {how}: broker CPU", "us/request", values, ("ratio", 4), digits=1)
