"""Fetch CPU: large answers by the GiB, small ones and idle long polls by the request."""

from bench.measure import load
from bench.settings import GIB, MIB, SECONDS, sized

LOADED = sized(GIB, 128 * MIB)


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
    """P4: one batch of 1 KiB or 16 KiB a request, and polls that nothing answers."""

    def one_pass(broker):
        small_ones = loaded(bench, broker, "read-1k", 1, 940, sized(64, 8) * MIB)
        larger = loaded(bench, broker, "read-16k", 16, 1010, sized(256, 32) * MIB)
        common = {"max_bytes": 1, "warm_seconds": 0.3, "seconds": SECONDS}
        return {
            "fetch 1 KiB": load("fetch", broker, "P4", topic=small_ones, **common)["us_per_request"],
            "fetch 16 KiB": load("fetch", broker, "P4", topic=larger, **common)["us_per_request"],
            "idle long poll, 200 a second": load("poll", broker, "P4", topic=small_ones, connections=100, wait_ms=500,
                                                 warm_seconds=0.6, seconds=max(SECONDS, 2))["us_per_request"],
        }

    for label, values in bench.compare(one_pass).items():
        bench.figure("P4", f"{label}: broker CPU", "us/request", values, ("ratio", 4), digits=1)
