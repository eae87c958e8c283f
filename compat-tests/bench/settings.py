"""What the environment asks of a run."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".work"
LOAD = WORK / "load" / "release" / "load"

QUICK = os.environ.get("BENCH_QUICK") == "1"
PEERS = os.environ.get("BENCH_PEERS", "kafka dohle").split()
PAIRS = int(os.environ.get("BENCH_PAIRS", "1" if QUICK else "5"))
BROKER_CORE, LOAD_CORE = map(int, os.environ.get("BENCH_CORES", "0 1").split())
DIR = Path(os.environ.get("BENCH_DIR", WORK / "bench"))
PERF = os.environ.get("BENCH_PERF")
SECONDS = float(os.environ.get("BENCH_SECONDS", "0.5" if QUICK else "3"))
LATENCY_SECONDS = float(os.environ.get("BENCH_LATENCY_SECONDS", "3" if QUICK else "60"))

MIB = 1 << 20
GIB = 1 << 30
# The most that one row keeps on disk for one broker.
LARGEST = int(float(os.environ.get("BENCH_LARGEST_GIB", "8")) * GIB)


def sized(full, quick):
    """The full size of a run, or the small one of a quick run."""
    return quick if QUICK else full


def docs():
    """The file whose table is rewritten, or None."""
    wanted = os.environ.get("BENCH_DOCS", "")
    usual = HERE.parents[1] / "docs" / "benchmarks.md"
    if wanted == "0":
        return None
    if wanted == "1":
        return usual
    if wanted:
        return Path(wanted)
    return usual if not QUICK and {"kafka", "dohle"} <= set(PEERS) else None
