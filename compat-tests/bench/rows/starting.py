"""How soon a broker serves: after a clean stop (P9) and after kill -9 (P10)."""

import os
import time

from bench import peers, settings
from bench.measure import load
from bench.peers import cpu_seconds
from bench.rows.produce import LARGE, SMALL
from bench.settings import GIB, LARGEST, MIB, sized
from harness.broker import answers

BYTES = min(sized(7 * GIB, 512 * MIB), LARGEST)
SPREAD = 8
PARTITIONS = sized(10_000, 1_000)


def start(bench):
    """P9: from exec to the first Metadata answer, on a folder that was stopped in good order; and the binary's size."""
    bench.end_brokers()
    brokers = {name: peers.start(name) for name in settings.PEERS}
    for broker in brokers.values():
        broker.stop()

    def one_pass(name):
        broker = brokers[name]
        try:
            seconds = serving(broker)
            return {"ms": seconds * 1000, "cpu": cpu_seconds(broker)}
        finally:
            broker.stop()

    values = bench.alternate(one_pass, list(brokers), warm=1, pairs=max(settings.PAIRS, 3))
    for broker in brokers.values():
        peers.end(broker)
    bench.figure("P9", "exec to the first Metadata answer", "ms", values["ms"], ("most", 50), digits=1)
    bench.figure("P9", "CPU until then", "s", values["cpu"], digits=3)
    if "dohle" in brokers:
        bench.figure("P9", "size of the binary", "MiB", {"dohle": [os.stat(peers.Dohle.binary).st_size / MIB]}, ("most", 25), digits=1)


def after_kill(bench):
    """P10: from exec to an answer of every partition after kill -9, with many bytes and with many partitions."""

    def fill_bytes(broker):
        load("topic", broker, topic="full", partitions=SPREAD)
        load("produce", broker, topic="full", partitions=SPREAD, acks=1, in_flight=4, seconds=600, amount=BYTES, **LARGE)

    def fill_partitions(broker):
        load("topic", broker, topic="full", topics=PARTITIONS // 1000, partitions=1000)
        load("produce", broker, topic="full", topics=PARTITIONS // 1000, partitions=1000, acks=1, in_flight=4, seconds=60,
             amount=PARTITIONS * 1100, **SMALL["1 KiB"])

    kill_and_start(bench, f"restart after kill -9, {BYTES / GIB:g} GiB in {SPREAD} partitions", fill_bytes, 1, SPREAD)
    kill_and_start(bench, f"restart after kill -9, {PARTITIONS:,} partitions", fill_partitions, PARTITIONS // 1000, 1000)


def kill_and_start(bench, label, fill, topics, partitions):
    bench.end_brokers()
    brokers = {}
    try:
        # What is in memory is not there after a kill.
        for name in [name for name in settings.PEERS if name != "tansu"]:
            brokers[name] = peers.start(name)
            fill(brokers[name])
            brokers[name].kill()

        def one_pass(name):
            broker = brokers[name]
            try:
                seconds = serving(broker)
                seconds += load("probe", broker, topic="full", topics=topics, partitions=partitions)["seconds"]
                return {"s": seconds, "cpu": cpu_seconds(broker)}
            finally:
                broker.kill()

        values = bench.alternate(one_pass, list(brokers), pairs=min(settings.PAIRS, 3))
    finally:
        for broker in brokers.values():
            peers.end(broker)
    bench.figure("P10", f"{label}: time", "s", values["s"], ("ratio", 20), digits=3)
    bench.figure("P10", f"{label}: CPU", "s", values["cpu"], digits=3)


def serving(broker):
    """Starts the broker and returns the seconds until it answers a Metadata request."""
    started = time.monotonic()
    broker.spawn()
    while not answers(broker.port):
        if not broker.alive() or time.monotonic() - started > 600:
            raise RuntimeError(f"the broker does not start: {broker.log_tail()}")
        time.sleep(0.0005)
    return time.monotonic() - started
