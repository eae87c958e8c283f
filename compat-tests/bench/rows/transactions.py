"""T: transactions a second, what one costs, and what reading committed records costs more than reading all."""

from bench.measure import load
from bench.settings import MIB, SECONDS, sized

COUNT = sized(20_000, 2_000)
# Connections, each a producer with a transactional id of its own, and partitions that each transaction writes to.
SHAPES = {"1 producer, 1 partition": (1, 1), "1 producer, 8 partitions": (1, 8), "16 producers, 4 partitions": (16, 4)}
PARTITIONS = 16
BATCH = {"records": 10, "bytes": 100}


def run(bench):
    """Transactions of version 2 with one batch of 10 x 100 B for each partition; then a partition of such, one in ten aborted."""

    def one_pass(broker):
        found = {}
        for label, (connections, spread) in SHAPES.items():
            topic = bench.topic(broker, f"ledger-{connections}-{spread}", partitions=PARTITIONS)
            report = load("transact", broker, "T", topic=topic, partitions=PARTITIONS, connections=connections, spread=spread, **BATCH,
                          warm_seconds=1, seconds=max(SECONDS, 2))
            found[label, "rate"], found[label, "cpu"], found[label, "p99"] = report["requests_per_s"], report["us_per_request"], report["p99"]
        for isolation in ("all", "committed"):
            report = load("fetch", broker, "T", topic=filled(bench, broker), committed=str(isolation == "committed").lower(), max_bytes=MIB,
                          warm_seconds=0.3, seconds=SECONDS)
            found["read", isolation] = report["s_per_gib"]
        return found

    values = bench.compare(one_pass, warm=1)
    for label in SHAPES:
        bench.figure("T", f"{label}: transactions", "1/s", values[label, "rate"], more=True, digits=0)
        bench.figure("T", f"{label}: p99 of a transaction", "ms", values[label, "p99"])
        bench.figure("T", f"{label}: broker CPU", "us/transaction", values[label, "cpu"], digits=1)
    for isolation in ("all", "committed"):
        bench.figure("T", f"fetch 1 MiB of transactions, {isolation} records: broker CPU", "s/GiB", values["read", isolation], digits=3)
    more = {name: [committed / every for committed, every in zip(of, values["read", "all"][name])] for name, of in values["read", "committed"].items()}
    bench.figure("T", "the same, committed against all", "share", more)


def filled(bench, broker):
    """A topic whose only partition holds many transactions, one in ten aborted."""
    name = "ledger-read"
    if (broker.port, name) not in bench.topics:
        bench.topic(broker, name)
        load("transact", broker, topic=name, **BATCH, abort_every=10, seconds=600, amount=COUNT * BATCH["records"] * BATCH["bytes"])
    return name
