"""Latency at fixed rates, open loop: quiet (P6), and while a reader catches up from the disk (P12)."""

import threading

from bench import peers, settings
from bench.measure import load
from bench.settings import GIB, LARGEST, LATENCY_SECONDS, MIB, sized

RATE = 5000
PARTITIONS = 100
COLD = min(sized(8 * GIB, 512 * MIB), LARGEST)


def end_to_end(bench):
    """P6: 5,000 keyed records of 100 bytes a second over 100 partitions, from planned sending to receipt."""

    def one_pass(acks):
        def measure(broker):
            topic = bench.topic(broker, "latency", partitions=PARTITIONS)
            report = load("latency", broker, "P6", topic=topic, partitions=PARTITIONS, rate=RATE, bytes=100, acks=acks, in_flight=5,
                          warm_seconds=sized(10, 1), seconds=LATENCY_SECONDS)
            if report["missing"]:
                raise RuntimeError(f"{report['missing']} records never came back")
            return report
        return measure

    for acks in ("1", "all"):
        values = bench.compare(one_pass(acks), warm=1)
        for name, must in (("p50", 2), ("p99", 3), ("p999", 5), ("p9999", None)):
            shown = {"p999": "p99.9", "p9999": "p99.99"}.get(name, name)
            bench.figure("P6", f"end to end, 5,000/s, acks={acks}: {shown}", "ms", values[name], must and ("ratio", must), digits=3)
        bench.figure("P6", f"end to end, 5,000/s, acks={acks}: broker CPU", "us/record", values["us_per_record"], digits=1)


def beside_a_reader(bench):
    """P12: acknowledgement p99 at 1,000 records a second, alone and while another client reads a log that is not in memory."""

    def one_pass(broker):
        cold = bench.topic(broker, "cold")
        if (broker.port, "cold filled") not in bench.topics:
            load("produce", broker, topic=cold, acks=1, in_flight=4, records=900, bytes=1024, seconds=900, amount=COLD)
            bench.topics.add((broker.port, "cold filled"))
        topic = bench.topic(broker, "beside", partitions=10)
        alone = probe(broker, topic)
        reading = threading.Event()
        read = []
        errors = []

        def read_cold():
            try:
                while not reading.is_set():
                    peers.evict(broker, cold)
                    read.append(load("fetch", broker, topic=cold, max_bytes=MIB, seconds=settings.SECONDS * 20, amount=COLD)["mib_per_s"])
            except (RuntimeError, OSError) as error:
                errors.append(error)

        reader = threading.Thread(target=read_cold)
        reader.start()
        beside = probe(broker, topic)
        reading.set()
        reader.join()
        if errors:
            raise errors[0]
        return {"alone": alone, "beside": beside, "share": beside / alone, "read": sum(read) / len(read)}

    def probe(broker, topic):
        return load("latency", broker, "P12", topic=topic, partitions=10, rate=1000, bytes=1024, acks=1, in_flight=5,
                    warm_seconds=1, seconds=sized(15, 3))["ack_p99"]

    # Files that are not synced cannot be dropped from memory, and two brokers' logs are twice as much: few pairs do.
    values = bench.compare(one_pass, warm=1, pairs=min(settings.PAIRS, 3))
    bench.figure("P12", "produce p99 alone, 1,000/s", "ms", values["alone"], digits=3)
    bench.figure("P12", "produce p99 beside a cold reader, 1,000/s", "ms", values["beside"], digits=3)
    bench.figure("P12", f"produce p99 beside a reader of cold {COLD / GIB:g} GiB, against alone", "share", values["share"], ("most", 1.5))
    bench.figure("P12", "what the cold reader gets", "MiB/s", values["read"], more=True, digits=0)
    bench.end_brokers()
