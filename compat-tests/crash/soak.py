"""R16: mixed load at full speed while retention and rolls run; memory and open files must stay flat, no client may see
an error."""

import asyncio
import json
import os
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

from harness.broker import Broker, free_port
from harness.clients import JAVA, PYTHON, Member
from crash import check, flat, plants, wire
from crash.kills import keep
from crash.load import Load
from crash.wire import Connection

HERE = Path(__file__).resolve().parent
SETTINGS = {
    "auto.create.topics.enable": "false",
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "offsets.topic.segment.bytes": "1048576",
}
# By size, by time, and rolled by time; what is deleted leaves the disk soon.
TOPICS = {
    "by-size": (4, {"segment.bytes": 4 << 20, "retention.bytes": 32 << 20, "file.delete.delay.ms": 1000}),
    "by-time": (2, {"segment.ms": 2000, "retention.ms": 6000, "file.delete.delay.ms": 1000}),
    "grouped": (4, {"segment.bytes": 1 << 20, "retention.bytes": 8 << 20, "file.delete.delay.ms": 1000}),
    "java": (2, {"segment.bytes": 4 << 20, "retention.bytes": 32 << 20, "file.delete.delay.ms": 1000}),
}
# For the raw load, whose segments are small: few of them stay.
RETENTION = {"retention.bytes": 500_000, "retention.ms": 10_800_000, "file.delete.delay.ms": 1000}
# Whose number of segments does not depend on how fast the machine is just now.
STEADY = ("plain", "rolls", "short", "large", "flushed", "again")
SAMPLE_S = 0.5


class Client:
    """A client as a process of its own; it ends when its input closes."""

    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def check(self):
        assert self.process.poll() is None, f"{self.name} ended: {self.process.stdout.read()[-2000:]}"

    def end(self):
        output, _ = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, f"{self.name}: {output[-2000:]}"
        return output

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)


def flood(verb, broker, topic, *rest):
    return Client(f"librdkafka {verb} {topic}", [PYTHON, str(HERE / "flood.py"), verb, broker.bootstrap, topic, *map(str, rest)])


def java_perf(broker, seconds, rate):
    """Kafka's own load producer, for as many records as fill the time."""
    return Client("java producer", JAVA + [
        "org.apache.kafka.tools.ProducerPerformance", "--topic", "java", "--num-records", str(int(seconds * rate)), "--record-size",
        "500", "--throughput", str(rate), "--producer-props", f"bootstrap.servers={broker.bootstrap}", "acks=all", "compression.type=lz4"])


class Samples:
    """Memory and open files of the broker, taken at regular times."""

    def __init__(self, broker):
        self.broker = broker
        self.rss, self.files = [], []

    def take(self):
        self.rss.append(self.broker.rss_mib())
        self.files.append(len(os.listdir(f"/proc/{self.broker.process.pid}/fd")))

    def check(self):
        """RSS may wander with the load by a tenth or 8 MiB, open files with what is being read by a tenth or 12."""
        for what, samples, least in (("RSS in MiB", self.rss, 8), ("open files", self.files, 12)):
            rise = flat.grows(samples, 0.10, least)
            if rise is not None:
                raise AssertionError(f"{what} grows by {rise:.1f}: {[round(sample) for sample in samples[::max(1, len(samples) // 20)]]}")


async def members_come_and_go(broker, until, rng):
    """Rebalances all the time: Java and kafka-python members of one group, one leaving and coming back every few seconds."""
    members = [Member(name, broker, "grouped", "movers") for name in ("java", "kafka-python", "kafka-python")]
    rebalances = 0
    try:
        while time.monotonic() < until:
            await asyncio.sleep(min(rng.uniform(5, 9), max(0.1, until - time.monotonic())))
            for member in members:
                member.check()
                # Only that it reads matters here; the list must not grow for minutes.
                member.records.clear()
            leaving = members.pop(rng.randrange(len(members)))
            await asyncio.to_thread(leaving.leave)
            members.append(Member(leaving.client, broker, "grouped", "movers"))
            rebalances += 2
        for member in members:
            await asyncio.to_thread(member.leave)
        return rebalances
    finally:
        for member in members:
            member.kill()


async def leak(broker, until):
    """The planted fault: connections that are never closed."""
    held = []
    while time.monotonic() < until:
        held.append(await Connection.open(broker.port))
        await asyncio.sleep(0.1)
    await asyncio.gather(*(connection.close() for connection in held))


async def run(seconds, seed, plant=None, tell=print, growth=True):
    """`growth=False` for runs too short to tell growth from the beginning of a load."""
    rng = random.Random(seed)
    started = time.monotonic()
    clients = []
    with tempfile.TemporaryDirectory(prefix="dohle-soak-") as folder:
        broker = Broker(Path(folder), free_port(), SETTINGS)
        tasks = []
        try:
            broker.start()
            load = Load(broker, seed, topics=0.3, pace=0.003, retention=RETENTION, kinds=STEADY)
            await load.make_topics()
            connection = await Connection.open(broker.port)
            for topic, (partitions, configs) in TOPICS.items():
                assert await wire.create_topic(connection, topic, partitions, configs) == 0
            await connection.close()
            clients = [
                flood("produce", broker, "by-size", "none", 0), flood("produce", broker, "by-size", "lz4", 0),
                flood("produce", broker, "by-time", "zstd", 5000), flood("produce", broker, "grouped", "snappy", 600),
                flood("consume", broker, "by-size", "sizes"), flood("consume", broker, "by-size", "sizes"),
                flood("consume", broker, "by-time", "times"), java_perf(broker, max(5, seconds - 5), 2000)]
            until = time.monotonic() + seconds
            load.start(load.lanes)
            tasks = [asyncio.ensure_future(members_come_and_go(broker, until, rng))]
            if plant == "leak":
                tasks.append(asyncio.ensure_future(leak(broker, until)))
            samples = Samples(broker)
            told = time.monotonic()
            while time.monotonic() < until:
                await asyncio.sleep(SAMPLE_S)
                samples.take()
                load.raise_faults()
                assert broker.alive(), f"the broker ended: {broker.log_tail()}"
                for client in clients[:-1]:
                    client.check()
                for task in tasks:
                    if task.done():
                        task.result()
                if time.monotonic() > told + 30:
                    told = time.monotonic()
                    tell(f"soak: {told - started:.0f} s, RSS {samples.rss[-1]:.1f} MiB, {samples.files[-1]} files, {load.records} raw records", flush=True)
            await load.stop()
            rebalances = (await asyncio.gather(*tasks))[0]
            counts = [await asyncio.to_thread(client.end) for client in clients]
            await check.check(load, load.partitions, found=plants.in_input(plant))
            tasks = []
            if growth:
                samples.check()
            warnings = [line for line in broker.log_text().splitlines() if " WARN " in line or " ERROR " in line]
            assert not [line for line in warnings if " ERROR " in line], warnings[-5:]
            assert not any(lane.refused for lane in load.lanes), [lane.errors for lane in load.lanes if lane.refused]
            rolled, oldest = rolls(broker)
            assert oldest > 0, "retention deleted nothing"
            exit_code = broker.stop()
            assert exit_code == 0, f"the broker's orderly stop ended with {exit_code}"
            assert not plant, f"the planted fault '{plant}' was not noticed"
        except BaseException:
            keep(broker)
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for client in clients:
                client.kill()
            broker.kill()
    acked = sum(json.loads(line)["acked"] for line in counts[:4])
    read = sum(json.loads(line)["read"] for line in counts[4:7])
    java = re.findall(r"(\d+) records sent", counts[7])[-1]
    tell(f"soak: {seconds} s; librdkafka acknowledged {acked} and read {read} records, Java {java}, raw clients {load.records}; "
         f"{rebalances} members left or came; {rolled} segments at the end, {oldest} records deleted by retention; "
         f"RSS {describe(samples.rss)} MiB, open files {describe(samples.files)}; no error in any client, {len(warnings)} warnings of the broker; "
         f"seed {seed}")
    return samples


def rolls(broker):
    """The segments that there are now, and the records that retention took, of the topics with retention."""
    segments, deleted = 0, 0
    for topic in TOPICS:
        for folder in broker.data.glob(f"{topic}-*"):
            bases = sorted(int(path.stem) for path in folder.glob("*.log"))
            segments += len(bases)
            deleted += bases[0] if bases else 0
    return segments, deleted


def describe(samples):
    settled = samples[len(samples) // 3:]
    return f"{min(settled):.0f} to {max(settled):.0f} (last {settled[-1]:.0f})"
