"""P5: the same bytes in and out on one core."""

from bench.measure import load
from bench.rows.produce import LARGE
from bench.settings import GIB, MIB, sized

AMOUNT = sized(GIB, 256 * MIB)


def run(bench):
    """One and four producers, each with a consumer of its partition; batches of 900 x 1 KiB, acks=1."""

    def one_pass(broker):
        # The producers wait for readers that are 64 MiB behind, so nothing is deleted before it was read.
        topic = bench.topic(broker, "pair", partitions=4, retention_bytes=256 * MIB, segment_bytes=64 * MIB, file_delete_delay_ms=100)
        found = {}
        for connections in (1, 4):
            report = load("pair", broker, "P5", topic=topic, partitions=4, connections=connections, acks=1, in_flight=4,
                          amount=AMOUNT, **LARGE)
            found[connections, "rate"] = report["mib_per_s"]
            found[connections, "cpu"] = report["s_per_gib"]
        return found

    values = bench.compare(one_pass)
    for connections in (1, 4):
        label = f"produce and consume 1:1, {connections} of each"
        bench.figure("P5", f"{label}: rate in, and the same out", "MiB/s", values[connections, "rate"], ("ratio", 3), more=True, digits=0)
        bench.figure("P5", f"{label}: broker CPU", "s/GiB", values[connections, "cpu"], digits=3)
