"""How soon a large group is stable (P14)."""

from bench import peers, settings
from bench.measure import load
from bench.settings import sized

MEMBERS = sized(500, 50)
PARTITIONS = sized(1000, 100)


def run(bench):
    """P14: all members join, one leaves, and twenty are started anew one by one, in both group protocols."""
    bench.end_brokers()

    def one_pass(protocol):
        def measure(name):
            broker = peers.start(name, **peers.FREEZABLE.get(name, {}))
            try:
                load("topic", broker, topic="group", partitions=PARTITIONS)
                return load("group", broker, topic="group", partitions=PARTITIONS, connections=MEMBERS, protocol=protocol, wait_ms=250)
            finally:
                peers.end(broker)
        return measure

    for protocol in ("classic", "consumer"):
        values = bench.alternate(one_pass(protocol), settings.PEERS, pairs=min(settings.PAIRS, 3))
        label = f"{protocol} group of {MEMBERS} members, {PARTITIONS:,} partitions"
        bench.figure("P14", f"{label}: all join", "s", values["join_s"], ("ratio", 5), digits=3)
        bench.figure("P14", f"{label}: one leaves", "s", values["leave_s"], ("ratio", 5), digits=3)
        bench.figure("P14", f"{label}: one of twenty restarts", "s", values["restart_s"], ("ratio", 5), digits=3)
        bench.figure("P14", f"{label}: broker CPU", "s", values["cpu_s"], digits=3)
