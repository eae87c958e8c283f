"""Passes in the order A-B-B-A, their medians, and the load client."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench import peers, settings

# Modes whose broker grows the page cache, and by how many bytes at most.
WRITING = {"produce": 512 * settings.MIB, "pair": 1536 * settings.MIB, "latency": 512 * settings.MIB}
_perf_number = 0


def touch(mode):
    """Has memory ready for what such a run adds to the page cache."""
    if mode in WRITING:
        subprocess.run([str(settings.LOAD), "touch", "--path", str(settings.DIR), "--amount", str(WRITING[mode])], check=True, capture_output=True)


def load(mode, broker, record=None, touched=False, **options):
    """Runs the load client against a broker and returns its report; `record` names the row for perf."""
    command = [str(settings.LOAD), mode]
    if broker is not None:
        command += ["--boot", broker.bootstrap, "--pid", str(broker.process.pid)]
    for name, value in options.items():
        command += ["--" + name.replace("_", "-"), str(value)]
    if not touched:
        touch(mode)
    with perf(record, broker):
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        tail = broker.log_tail() if broker is not None else ""
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}\n{tail}")
    return json.loads(done.stdout)


@contextlib.contextmanager
def perf(row, broker):
    """Records Dohle while the body runs, when BENCH_PERF asks for it."""
    global _perf_number
    if not (settings.PERF and row and broker is not None and broker.name == "dohle"):
        yield
        return
    _perf_number += 1
    Path(settings.PERF).mkdir(parents=True, exist_ok=True)
    output = Path(settings.PERF) / f"{row}-{_perf_number}.data"
    recorder = subprocess.Popen(
        ["perf", "record", "-q", "-g", "-F", "999", "-p", str(broker.process.pid), "-o", str(output)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        recorder.send_signal(signal.SIGINT)
        recorder.wait(60)


def waiting_us():
    """Microseconds in which some task waited for a CPU since boot; 0 where the kernel does not say."""
    try:
        first = Path("/proc/pressure/cpu").read_text().splitlines()[0]
        return int(first.rsplit("total=", 1)[1])
    except (OSError, IndexError, ValueError):
        return 0


class Bench:
    """One run of the program: keeps brokers that rows share, and the figures."""

    def __init__(self, results):
        self.results = results
        self.shared = {}
        self.topics = set()
        self.figures = []

    def brokers(self):
        """The brokers that short rows share, started when first asked for."""
        for name in settings.PEERS:
            if name not in self.shared:
                for other in self.shared.values():
                    peers.freeze(other)
                self.shared[name] = peers.start(name, **peers.FREEZABLE.get(name, {}))
                for other in self.shared.values():
                    peers.thaw(other)
        return self.shared

    def end_brokers(self):
        for broker in self.shared.values():
            peers.thaw(broker)
            peers.end(broker)
        self.shared = {}
        self.topics = set()

    def topic(self, broker, name, partitions=1, topics=1, **configs):
        """Creates a topic on a broker, once."""
        if (broker.port, name) in self.topics:
            return name
        configs = ",".join(f"{key.replace('_', '.')}={value}" for key, value in configs.items())
        load("topic", broker, topic=name, partitions=partitions, topics=topics, configs=configs)
        self.topics.add((broker.port, name))
        return name

    def compare(self, one_pass, warm=2, pairs=None):
        """Runs `one_pass(broker)` -> {figure: value} for each broker in turn; the others are frozen meanwhile."""
        brokers = self.brokers()
        return self.alternate(lambda name: self._alone(brokers, name, one_pass), list(brokers), warm, pairs)

    def alternate(self, one_pass, names, warm=0, pairs=None):
        """`one_pass(name)` in the order A-B-B-A; returns figure -> name -> values in order."""
        names = list(names)
        for _ in range(min(warm, 1) if settings.QUICK else warm):
            for name in list(names):
                self.attempt(one_pass, name, names)
        values = {}
        for pair in range(pairs or settings.PAIRS):
            for name in list(names) if pair % 2 == 0 else names[::-1]:
                for figure, value in self.attempt(one_pass, name, names).items():
                    values.setdefault(figure, {}).setdefault(name, []).append(value)
        return values

    def attempt(self, one_pass, name, names):
        """One pass. Where Tansu cannot do what a row asks, the row goes on without it."""
        try:
            return one_pass(name)
        except (RuntimeError, AssertionError, KeyError) as error:
            if name != "tansu":
                raise
            print(f"without Tansu: {error}", file=sys.stderr, flush=True)
            names.remove(name)
            if name in self.shared:
                peers.end(self.shared.pop(name))
            return {}

    def floor(self, one_pass, records, bytes):
        """`one_pass(server)` for the least that can be done, as often as for a broker, while these are frozen."""
        others = list(self.brokers().values())
        for other in others:
            peers.freeze(other)
        try:
            with peers.Floor(records, bytes) as server:
                return [one_pass(server) for _ in range(settings.PAIRS)]
        finally:
            for other in others:
                peers.thaw(other)

    def _alone(self, brokers, name, one_pass):
        others = [broker for other, broker in brokers.items() if other != name]
        for other in others:
            peers.freeze(other)
        try:
            return one_pass(brokers[name])
        finally:
            for other in others:
                peers.thaw(other)

    def figure(self, row, figure, unit, values, must=None, more=False, digits=2):
        """Keeps and prints a figure of every broker, with what was to be reached.

        `must` is ("ratio", r): at least r times better than the first broker; ("least", v) or ("most", v): of the value
        itself. `more` says that a larger value is the better one."""
        medians = {name: statistics.median(of) for name, of in values.items()}
        ratio = None
        first = settings.PEERS[0]
        if first in medians and "dohle" in medians and first != "dohle" and min(medians[first], medians["dohle"]) > 0:
            ratio = medians["dohle"] / medians[first] if more else medians[first] / medians["dohle"]
        reached = None
        if must and "dohle" in medians:
            kind, limit = must
            if kind == "ratio":
                reached = None if ratio is None else ratio >= limit
            else:
                reached = medians["dohle"] >= limit if kind == "least" else medians["dohle"] <= limit
        entry = {
            "row": row, "figure": figure, "unit": unit, "ratio": ratio and round(ratio, 2), "to": first, "must": must,
            "reached": reached, "more": more,
            "peers": {name: {"median": round(medians[name], digits), "runs": [round(v, digits) for v in of]} for name, of in values.items()},
            "load": os.getloadavg()[0],
        }
        self.figures.append(entry)
        print(json.dumps(entry), flush=True)


def timed(bench, row, work):
    """Runs a row; what it took and how long tasks waited for a CPU goes to the log."""
    started, waited = time.monotonic(), waiting_us()
    first = len(bench.figures)
    try:
        work(bench)
    finally:
        seconds = time.monotonic() - started
        stall = (waiting_us() - waited) / 1e6 / seconds
        for entry in bench.figures[first:]:
            entry["stall"] = round(stall, 2)
    print(f"{row}: {seconds:.0f} s, tasks waited for a CPU {stall:.0%} of the time", file=sys.stderr, flush=True)
