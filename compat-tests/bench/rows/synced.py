"""Acknowledgements that wait for the disk. Apache Kafka needs `flush.messages=1` for that, Dohle only acks=all."""

from bench import settings
from bench.measure import load
from bench.rows.produce import AMOUNT, LARGE, RETAINED
from bench.settings import MIB, SECONDS

RECORD = {"records": 1, "bytes": 940}


def synced_topic(bench, broker, name, partitions=1):
    configs = dict(RETAINED)
    if broker.name == "tansu":
        raise RuntimeError("a store in memory syncs nothing")
    if broker.name == "kafka":
        configs["flush_messages"] = 1
    return bench.topic(broker, name, partitions=partitions, **configs)


def one_partition(bench):
    """P7: synced acknowledgements a second on one partition, 1 KiB, one request in flight a connection."""

    def one_pass(broker):
        topic = synced_topic(bench, broker, "synced")
        found = {}
        for connections in (1, 16, 64):
            report = load("produce", broker, "P7", topic=topic, acks="all", connections=connections, warm_seconds=0.3,
                          seconds=SECONDS, **RECORD)
            found[connections, "rate"] = report["requests_per_s"]
            found[connections, "p99"] = report["p99"]
        found["disk"] = load("sync", None, path=broker.data, bytes=1024, seconds=SECONDS)["p99"]
        return found

    values = bench.compare(one_pass)
    for connections, must in ((1, 1), (16, 8), (64, 20)):
        label = f"synced acks, 1 partition, {connections} connection{'s' if connections > 1 else ''}"
        bench.figure("P7", f"{label}: rate", "acks/s", values[connections, "rate"], ("ratio", must), more=True, digits=0)
        bench.figure("P7", f"{label}: p99", "ms", values[connections, "p99"])
    bench.figure("P7", "the disk alone, append and fdatasync: p99", "ms", {settings.PEERS[-1]: values["disk"][settings.PEERS[-1]]})


def many_partitions(bench):
    """P7b: 16 connections, each on a partition of its own."""

    def one_pass(broker):
        topic = synced_topic(bench, broker, "synced-16", 16)
        return {"rate": load("produce", broker, "P7b", topic=topic, partitions=16, connections=16, acks="all",
                             warm_seconds=0.3, seconds=SECONDS, **RECORD)["requests_per_s"]}

    values = bench.compare(one_pass)
    bench.figure("P7b", "synced acks, 16 connections on 16 partitions: rate", "acks/s", values["rate"], ("ratio", 2), more=True, digits=0)


def against_unsynced(bench):
    """P7c: large batches, our acks=all with its sync against our acks=1 without."""
    if "dohle" not in settings.PEERS:
        return

    def one_pass(acks):
        broker = bench.brokers()["dohle"]
        topic = bench.topic(broker, "unsynced", **RETAINED)
        return {"rate": load("produce", broker, "P7c", topic=topic, acks=acks, in_flight=4, seconds=30, amount=AMOUNT,
                             **LARGE)["mib_per_s"]}

    def disk():
        # As much in one piece as four requests bring.
        piece = 4 * LARGE["records"] * LARGE["bytes"]
        report = load("sync", None, path=bench.brokers()["dohle"].data, bytes=piece, seconds=SECONDS)
        return report["syncs_per_s"] * piece / MIB

    rates = bench.alternate(one_pass, ["1", "all"], warm=1)["rate"]
    shares = [synced / unsynced for synced, unsynced in zip(rates["all"], rates["1"])]
    bench.figure("P7c", "large batches, acks=1: rate", "MiB/s", {"dohle": rates["1"]}, more=True, digits=0)
    bench.figure("P7c", "large batches, acks=all synced: rate", "MiB/s", {"dohle": rates["all"]}, more=True, digits=0)
    bench.figure("P7c", "the disk alone, 3.5 MiB appended and synced at a time: rate", "MiB/s",
                 {"dohle": [disk() for _ in range(settings.PAIRS)]}, more=True, digits=0)
    bench.figure("P7c", "large batches, acks=all synced against acks=1: rate", "share", {"dohle": shares}, ("least", 0.8))
