"""Fetch CPU: large answers by the GiB, small ones and idle long polls by the request."""

from bench.measure import load
from bench.settings import GIB, MIB, SECONDS, sized

LOADED = sized(GIB, 128 * MIB)
# Records of a batch, and bytes of a value.
SMALL = {"1 KiB": {"records": 1, "bytes": 940}, "16 KiB": {"records": 16, "bytes": 1010}}
# Connections, each with one request in flight.
LOADS = {"1 connection": 1, "16 connections": 16}


def loaded(bench, broker, name, records, size, amount):
    """A topic that holds `amount` bytes in batches of that shape."""
    if (broker.port, name) not in bench.topics:
        bench.topic(broker, name)
        load("produce", broker, topic=name, acks=1, in_flight=4, records=records, bytes=size, seconds=120, amount=amount)
    return name


def large(bench):
    """P3: answers of up to 1 MiB from the page cache, batches of 16 KiB."""

    def one_pass(broker):
        topic = loaded(bench, broker, "read-large", 16, 1010, LOADED)
        report = load("fetch", broker, "P3", topic=topic, max_bytes=MIB, warm_seconds=0.3, seconds=SECONDS)
        return {"cpu": report["s_per_gib"], "rate": report["mib_per_s"]}

    values = bench.compare(one_pass)
    bench.figure("P3", "fetch 1 MiB, warm: broker CPU", "s/GiB", values["cpu"], ("ratio", 1), digits=3)
    bench.figure("P3", "fetch 1 MiB, warm: rate", "MiB/s", values["rate"], more=True, digits=0)


def small(bench):
    """P4: one batch of 1 KiB or 16 KiB a request, for one client and for sixteen, and polls that nothing answers."""

    def one(broker, topic, connections):
        return load("fetch", broker, "P4", topic=topic, connections=connections, max_bytes=1, warm_seconds=0.3,
                    seconds=SECONDS)["us_per_request"]

    def one_pass(broker):
        found = {}
        for label, shape in SMALL.items():
            topic = loaded(bench, broker, f"read-{shape['records']}", *shape.values(), sized(128, 16) * MIB)
            for how, connections in LOADS.items():
                found[label, how] = one(broker, topic, connections)
        topic = f"read-{SMALL['1 KiB']['records']}"
        found["idle long poll", "200 a second"] = load("poll", broker, "P4", topic=topic, connections=100, wait_ms=500,
                                                       warm_seconds=0.6, seconds=max(SECONDS, 2))["us_per_request"]
        return found

    for (label, how), values in bench.compare(one_pass).items():
        if label in SMALL:
            values["floor"] = bench.floor(lambda server: one(server, "read", LOADS[how]), **SMALL[label])
            label = f"fetch {label}"
        bench.figure("P4", f"{label}, {how}: broker CPU", "us/request", values, ("ratio", 4), digits=1)
