"""C: what real clients see, and what they cost the broker: the Java client by Kafka's own tools, librdkafka by kcat."""

import os
import re
import subprocess
import tempfile
import time

from bench.peers import cpu_seconds
from bench.settings import WORK, sized
from harness.tools import tool

COUNT = sized(300_000, 20_000)
SIZE = 1024


def run(bench):
    """300,000 records of 1 KiB with acks=all, then the same read back; each client with a topic of its own."""
    with tempfile.NamedTemporaryFile(dir=WORK) as lines:
        # Values as they come from a random source, so that nothing shrinks or repeats on the way.
        lines.write(b"".join(os.urandom(SIZE // 2).hex().encode() + b"\n" for _ in range(1000)) * (COUNT // 1000))
        lines.flush()
        measure(bench, lines.name)


def measure(bench, lines):
    def one_pass(broker):
        number = len(bench.topics)
        found = {}
        for client, (produce, consume) in {"Java client": java(broker, number), "librdkafka (kcat)": kcat(broker, number, lines)}.items():
            bench.topic(broker, f"{client.split()[0]}-{number}")
            for what, work in (("produce", produce), ("consume", consume)):
                cpu, started = cpu_seconds(broker), time.monotonic()
                work()
                found[f"{client}, {what}"] = (cpu_seconds(broker) - cpu) * 1e6 / COUNT, COUNT / (time.monotonic() - started)
        return {(label, part): value for label, pair in found.items() for part, value in zip(("cpu", "rate"), pair)}

    values = bench.compare(one_pass, warm=1)
    for (label, part), of in values.items():
        if part == "cpu":
            bench.figure("C", f"{label} 1 KiB: broker CPU", "us/record", of)
        else:
            bench.figure("C", f"{label} 1 KiB, start of the client included: rate", "records/s", of, more=True, digits=0)


def java(broker, number):
    topic = f"Java-{number}"

    def produce():
        said = tool("producer-perf", "--topic", topic, "--num-records", COUNT, "--record-size", SIZE, "--throughput", -1,
                    "--bootstrap-server", broker.bootstrap, "--command-property", "acks=all")
        if not re.search(rf"{COUNT} records sent", said):
            raise RuntimeError(f"producer-perf: {said[-500:]}")

    def consume():
        said = tool("consumer-perf", "--bootstrap-server", broker.bootstrap, "--topic", topic, "--num-records", COUNT)
        if str(COUNT) not in said:
            raise RuntimeError(f"consumer-perf: {said[-500:]}")

    return produce, consume


def kcat(broker, number, lines):
    topic = f"librdkafka-{number}"

    def produce():
        subprocess.run(["kcat", "-P", "-b", broker.bootstrap, "-t", topic, "-l", lines, "-X", "acks=all", "-X", "linger.ms=5"], check=True,
                       capture_output=True)

    def consume():
        done = subprocess.run(["kcat", "-C", "-b", broker.bootstrap, "-t", topic, "-o", "beginning", "-c", str(COUNT), "-q"],
                              check=True, stdout=subprocess.PIPE)
        count = done.stdout.count(b"\n")
        if count != COUNT:
            raise RuntimeError(f"kcat read {count} records")

    return produce, consume
