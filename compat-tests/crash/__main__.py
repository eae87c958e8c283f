"""The command line of the crash tests: `run --help`."""

import argparse
import asyncio
import sys
import time

from crash import copies, cuts, flips, full, histories, kills, soak
from crash.history import Fault


def main():
    parser = argparse.ArgumentParser(prog="compat-tests/crash/run", description="Crashes, power cuts, full disks and long load against the built broker.")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of everything random")
    parser.add_argument("--plant", default=None, help="a fault planted outside the product, which must be noticed")
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("kills", help="R3: kill -9 under load").add_argument("count", type=int)
    what.add_parser("cuts", help="R4: power cuts").add_argument("count", type=int)
    what.add_parser("full", help="R9: the disk is full, and there is room again").add_argument("count", type=int)
    what.add_parser("soak", help="R16: mixed load at full speed").add_argument("count", type=int, metavar="SECONDS")
    what.add_parser("flips", help="R7 with the real process: damaged files").add_argument("count", type=int)
    what.add_parser("histories", help="R2: transactions of librdkafka and Java, judged as a history").add_argument("count", type=int, metavar="KILLS")
    copying = what.add_parser("copies", help="exactly-once copies by each client, with kill -9 of broker and copiers")
    copying.add_argument("count", type=int, metavar="ROUNDS")
    copying.add_argument("ways", nargs="*", metavar="CLIENT", help=f"some of {', '.join(copies.WAYS)}; without one all")
    arguments = parser.parse_args()
    match arguments.what:
        case "kills":
            asyncio.run(kills.run(arguments.count, arguments.seed, arguments.plant))
        case "cuts":
            asyncio.run(cuts.run(arguments.count, arguments.seed, arguments.plant))
        case "soak":
            asyncio.run(soak.run(arguments.count, arguments.seed, arguments.plant))
        case "flips":
            asyncio.run(flips.run(arguments.count, arguments.seed, arguments.plant))
        case "histories":
            histories.run(arguments.count, arguments.seed, arguments.plant)
        case "copies":
            copies.run(arguments.count, arguments.seed, arguments.plant, arguments.ways)
        case "full":
            asyncio.run(full.run(arguments.count, arguments.seed, arguments.plant))


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"FAILED: {fault}")
