"""The command line: `run --help`."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from differ import pair, tape
from differ.known import Known


def main():
    parser = argparse.ArgumentParser(prog="compat-tests/differ/run", description="The same requests to Apache Kafka and to Dohle.")
    parser.add_argument("count", type=int, nargs="?", default=500, help="how many requests at least")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of every request")
    parser.add_argument("--walk", type=int, default=None, help="only this sequence of the seed")
    parser.add_argument("--record", metavar="FILE", help="keep Kafka's answers")
    parser.add_argument("--replay", metavar="FILE", help="compare with kept answers; no Kafka runs")
    parser.add_argument("--page", action="store_true", help="write the known differences into docs/compatibility.md, and do nothing else")
    parser.add_argument("--trace", action="store_true", help="print every request with both answers")
    parser.add_argument("--known", action="store_true", help="print the known differences that were met")
    arguments = parser.parse_args()
    known, started = Known(), time.monotonic()
    if arguments.page:
        known.page(write=True)
        return 0
    with tempfile.TemporaryDirectory(prefix="dohle-differ-") as folder:
        if arguments.replay:
            score = pair.replay(Path(folder), arguments.replay, known, tell)
        else:
            print(f"seed {arguments.seed}", flush=True)
            score = pair.run(Path(folder), arguments, known, tell)
    if arguments.known:
        for row in known.rows:
            print(f"{row.met:6} {row.api} {row.path}: {row.reason}")
    print(f"{score.requests} requests, {known.total()} known differences, {score.unexplained} unexplained, in {time.monotonic() - started:.0f} s")
    return 1 if score.unexplained else 0


def tell(step):
    """One request whose answers differ."""
    print(f"\nDIFFERENT walk {step.walk} step {step.number} {step.api.name} v{step.version} on {step.line}")
    print(f"  request {tape.short(step.request)}")
    print(f"  kafka   {tape.short(step.kafka.get('body', step.kafka))}")
    print(f"  dohle   {tape.short(step.ours.get('body', step.ours))}")
    for difference in step.found[:12]:
        print(f"  - {difference}")
    if len(step.found) > 12:
        print(f"  - and {len(step.found) - 12} more")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
