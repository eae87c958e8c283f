"""The rows, in the order of docs/benchmarks.md."""

from bench.rows import clients, compaction, fetch, groups, latency, memory, pair, produce, starting, synced, transactions

ROWS = {
    "P1": produce.large,
    "P2": produce.small,
    "P3": fetch.large,
    "P4": fetch.small,
    "P5": pair.run,
    "P6": latency.end_to_end,
    "P7": synced.one_partition,
    "P7b": synced.many_partitions,
    "P7c": synced.against_unsynced,
    "P8": memory.process,
    "P9": starting.start,
    "P10": starting.after_kill,
    "P11": memory.idle_partitions,
    "P12": latency.beside_a_reader,
    "P13": memory.idle_connections,
    "P14": groups.run,
    "P16": compaction.run,
    "T": transactions.run,
    "C": clients.run,
}
