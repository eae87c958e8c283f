"""The rows, in the order of docs/benchmarks.md."""

from bench.rows import fetch, produce, synced

ROWS = {
    "P1": produce.large,
    "P2": produce.small,
    "P3": fetch.large,
    "P4": fetch.small,
    "P7": synced.one_partition,
    "P7b": synced.many_partitions,
    "P7c": synced.against_unsynced,
}
