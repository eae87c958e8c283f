"""The command line; see `run`."""

import argparse
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from . import judge, page, process, tables


def arguments():
    parser = argparse.ArgumentParser(prog="run", description="Apache Kafka's own integration tests against Dohle")
    parser.add_argument("--quick", action="store_true", help="only the classes marked quick")
    parser.add_argument("--page", action="store_true", help="write docs/compatibility.md")
    parser.add_argument("--kafka", action="store_true", help="measure Apache Kafka itself")
    parser.add_argument("pattern", nargs="*", help="parts of class names")
    return parser.parse_args()


def picked(wanted):
    found = [cls for cls in tables.classes() if not cls.left_out]
    if wanted.quick:
        found = [cls for cls in found if cls.quick]
    if wanted.pattern:
        found = [cls for cls in found if any(pattern in cls.name for pattern in wanted.pattern)]
    if not found:
        sys.exit("no class matches")
    return [cls.name for cls in found]


def each(names, out, kafka):
    """Yields (class, results, time was up) as the classes end, JOBS at a time."""
    with ThreadPoolExecutor(max_workers=int(os.environ.get("JOBS", "1"))) as pool:
        running = {pool.submit(process.run, name, out, kafka): name for name in names}
        for ended in as_completed(running):
            yield running[ended], *ended.result()


def measure(names, out):
    """Measures Apache Kafka; the results of other classes stay as they were."""
    table = tables.kafka()
    for name, results, late in each(names, out, kafka=True):
        table[name] = results
        count = f"{name}: {page.counts(results)} passed / failed / skipped, {sum(r.seconds for r in results):.0f} s"
        print(count + (", time limit" if late else ""), flush=True)
        tables.write_kafka(table)
    return 0


def compare(names, out, write_page):
    kafka, reasons, verdicts = tables.kafka(), tables.reasons(), {}
    for name, results, late in each(names, out, kafka=False):
        verdict = judge.judge(name, results, kafka.get(name, []), reasons, late)
        verdicts[name] = verdict
        print(f"{name}: {verdict.passed} passed, {verdict.failed} failed, {verdict.skipped} skipped, {verdict.seconds:.0f} s")
        for fault in verdict.faults:
            print(f"  unexplained: {fault}")
        sys.stdout.flush()
    if write_page:
        outcomes = tables.dohle() | {verdict.cls: verdict.outcome() for verdict in verdicts.values()}
        tables.write_dohle(outcomes)
        page.write(tables.classes(), outcomes, kafka)
    total = lambda what: sum(getattr(verdict, what) for verdict in verdicts.values())
    unexplained = sum(len(verdict.faults) for verdict in verdicts.values())
    print(f"{total('passed')} passed, {total('failed')} failed, {total('skipped')} skipped, {unexplained} unexplained")
    return 1 if unexplained else 0


def main():
    wanted = arguments()
    names = picked(wanted)
    if wanted.page and wanted.kafka:
        sys.exit("--page is for a run of Dohle")
    with tempfile.TemporaryDirectory(prefix="upstream-") as scratch:
        out = Path(os.environ.get("OUT", scratch)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        return measure(names, out) if wanted.kafka else compare(names, out, wanted.page)


sys.exit(main())
