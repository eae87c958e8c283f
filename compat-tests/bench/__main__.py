"""compat-tests/bench/run: the rows named in the arguments, or all."""

import os
import resource
import shutil
import sys

from bench import report, settings
from bench.measure import Bench, timed
from bench.rows import ROWS


def main(names):
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        sys.exit(f"unknown rows: {' '.join(unknown)}; there are {' '.join(ROWS)}")
    os.sched_setaffinity(0, {settings.LOAD_CORE})
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    settings.DIR.mkdir(parents=True, exist_ok=True)
    bench = Bench(settings.docs())
    failed = []
    try:
        for name in names or ROWS:
            try:
                timed(bench, name, ROWS[name])
            except (RuntimeError, AssertionError, OSError) as error:
                # One row that cannot be measured must not hide the others.
                print(f"{name} failed: {error}", file=sys.stderr, flush=True)
                failed.append(name)
                bench.end_brokers()
    finally:
        bench.end_brokers()
        shutil.rmtree(settings.DIR, ignore_errors=True)
    if bench.results is not None:
        report.write(bench.results, bench.figures, "compat-tests/bench/run" + "".join(f" {name}" for name in names))
    missed = sorted({f"{entry['row']} {entry['figure']}" for entry in bench.figures if entry["reached"] is False})
    for line in missed:
        print(f"not reached: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


main(sys.argv[1:])
