"""Exactly once: a topic is copied into another while broker and copiers are killed; the copy must be equal.

The copier of Java is Kafka's own `TransactionalMessageCopier`; those of the other clients (their verb `copy`) do the same:
read committed records, write them and how far they have read in one transaction, abort one in three and go back.
"""

import random
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition, OFFSET_BEGINNING
from confluent_kafka.admin import AdminClient, NewTopic

from crash.history import Fault
from harness import raw
from harness.broker import Broker, free_port
from harness.clients import COMMANDS, JAVA_OPTIONS, WORK
from harness.tools import LOG4J

PARTITIONS = (0, 1)
SETTINGS = {"group.min.session.timeout.ms": "1000", "transaction.state.log.num.partitions": "4"}
# The copier asks where its group stands before its producer fences the one that was killed, and cannot know until the
# transaction of that one has run out of time.
TIMEOUT_MS = "4000"
# What may happen at once, and how often.
BLOWS = ("broker", "broker", "copier", "copier", "both")


@dataclass(frozen=True)
class Way:
    """A client with the way in which its copiers share the partitions."""

    client: str
    records: int  # in each partition: what it copies in a few seconds
    size: int  # records of a transaction
    grouped: bool = False  # the copiers are members of one group that say so in their transactions (KIP-447)
    copiers: int = 2


WAYS = {
    "java": Way("java", 3000, 20),
    "java-group": Way("java", 3000, 20, grouped=True),
    "librdkafka": Way("librdkafka", 2000, 20, grouped=True),
    "franz-go": Way("franz-go", 2000, 20, grouped=True),
    "aiokafka": Way("aiokafka", 1500, 20),
    # It cannot be given a partition, and its commits do not name its generation: one copier is alone in its group.
    "kafkajs": Way("kafkajs", 1000, 20, copiers=1),
}


def command(way, bootstrap, source, target, group, number):
    transactional_id = f"{group}-{number}"
    if way.client != "java":
        return COMMANDS[way.client] + ["copy", bootstrap, source, target, group, transactional_id, str(number), str(way.size)]
    mode = ["--group-mode"] if way.grouped else []
    return ["java", *JAVA_OPTIONS, f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{WORK}/java/libs/*",
            "org.apache.kafka.tools.TransactionalMessageCopier", "--broker-list", bootstrap, "--input-topic", source,
            "--input-partition", str(number), "--output-topic", target, "--consumer-group", group, "--transactional-id", transactional_id,
            "--transaction-size", str(way.size), "--transaction-timeout", TIMEOUT_MS, "--enable-random-aborts", "--use-group-metadata", *mode]


class Copiers:
    """The copiers of one round; each is a process that is started again when it ends before the work is done."""

    def __init__(self, commands, log):
        self.commands, self.log = commands, log
        self.processes = [None] * len(commands)
        self.started = 0

    def keep_alive(self):
        for number, process in enumerate(self.processes):
            if process is None or process.poll() is not None:
                self.processes[number] = subprocess.Popen(self.commands[number], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
                self.started += 1

    def kill(self, number):
        process = self.processes[number]
        process.kill()
        process.wait(30)

    def end(self):
        for number, process in enumerate(self.processes):
            if process is not None:
                self.kill(number)


class Round:
    """One copy from its first record to the judgement."""

    def __init__(self, broker, way, name, records, rng):
        self.broker, self.way, self.rng = broker, way, rng
        self.source, self.target, self.group = f"{name}-source", f"{name}-target", f"{name}-copiers"
        self.records = records
        self.copied = 0
        self.blows = {"broker": 0, "copier": 0}

    def prepare(self):
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        for future in admin.create_topics([NewTopic(name, len(PARTITIONS), 1) for name in (self.source, self.target)]).values():
            future.result(60)
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "enable.idempotence": True, "linger.ms": 5})
        for number in range(self.records * len(PARTITIONS)):
            producer.produce(self.source, str(number), partition=number % len(PARTITIONS), on_delivery=acknowledged)
            producer.poll(0)
        assert producer.flush(60) == 0

    def look(self):
        """How many records are copied, as far as the group's offsets say."""
        try:
            with raw.Connection(self.broker, timeout=5) as connection:
                found = raw.committed_offsets(connection, self.group, self.source, PARTITIONS)
        except OSError:
            return self.copied
        if found is None:
            return self.copied
        now = sum(max(offset, 0) for offset in found.values())
        if now < self.copied:
            raise Fault(f"{self.group}: {self.copied} records were copied, and now it is {now}: committed offsets moved back")
        self.copied = max(self.copied, now)
        return self.copied

    def wait(self, copiers, goal, seconds):
        """Waits for a goal as long as something is copied within that many seconds."""
        before, limit = self.copied, time.monotonic() + seconds
        while self.look() < goal:
            if self.copied > before:
                before, limit = self.copied, time.monotonic() + seconds
            assert self.broker.alive(), f"the broker ended by itself: {self.broker.log_tail()}"
            assert time.monotonic() < limit, f"{self.group}: {self.copied} of {goal} records are copied, and no more in {seconds} s"
            copiers.keep_alive()
            time.sleep(0.01)

    def strike(self, copiers):
        blow = self.rng.choice(BLOWS)
        if blow in ("copier", "both"):
            copiers.kill(self.rng.randrange(len(copiers.commands)))
            self.blows["copier"] += 1
        if blow in ("broker", "both"):
            self.broker.kill()
            self.broker.start()
            self.blows["broker"] += 1

    def run(self, kills):
        self.prepare()
        total = self.records * len(PARTITIONS)
        commands = [command(self.way, self.broker.bootstrap, self.source, self.target, self.group, number) for number in range(self.way.copiers)]
        with open(self.broker.folder / "copiers.log", "ab") as log:
            copiers = Copiers(commands, log)
            try:
                copiers.keep_alive()
                for kill in range(kills):
                    least = total * kill // kills
                    self.wait(copiers, least + self.rng.randrange(1, max(2, total // kills)), 180)
                    time.sleep(self.rng.uniform(0, 0.02))
                    self.strike(copiers)
                self.wait(copiers, total, 180)
            finally:
                copiers.end()
        return copiers.started

    def judge(self, plant=None):
        """The copy is what was copied, in its order, and nothing is left open; how many records were written in vain."""
        if plant == "doubled":
            producer = Producer({"bootstrap.servers": self.broker.bootstrap})
            producer.produce(self.target, "0", partition=0, on_delivery=acknowledged)
            assert producer.flush(60) == 0
        everything = self.read("read_uncommitted")
        seen = self.read("read_committed")
        for partition in PARTITIONS:
            expected = [str(number) for number in range(partition, self.records * len(PARTITIONS), len(PARTITIONS))]
            compare(f"{self.target}-{partition}", expected, seen[partition])
        return sum(map(len, everything.values())) - sum(map(len, seen.values()))

    def read(self, isolation):
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "judge", "enable.auto.commit": False,
                             "isolation.level": isolation, "check.crcs": True, "log_level": 2})
        ends = {}
        limit = time.monotonic() + 60
        for partition in PARTITIONS:
            # The last markers may be on their way; behind them a committed reader comes to the very end.
            place = TopicPartition(self.target, partition)
            while True:
                ends[partition] = consumer.get_watermark_offsets(place, timeout=30)[1]
                if isolation == "read_uncommitted" or ends[partition] == self.ends[partition]:
                    break
                assert time.monotonic() < limit, f"{self.target}-{partition}: a transaction stays open at {ends[partition]} of {self.ends[partition]}"
                time.sleep(0.05)
        if isolation == "read_uncommitted":
            self.ends = ends
        consumer.assign([TopicPartition(self.target, partition, OFFSET_BEGINNING) for partition in PARTITIONS])
        values = {partition: [] for partition in PARTITIONS}
        while any(self.position(consumer, partition) < end for partition, end in ends.items()):
            assert time.monotonic() < limit, f"{self.target}: nothing more comes before {ends}"
            for message in consumer.consume(5000, timeout=0.2):
                if message.error():
                    raise Fault(f"{self.target}: librdkafka: {message.error()}")
                values[message.partition()].append(message.value().decode())
        consumer.close()
        return values

    def position(self, consumer, partition):
        (at,) = consumer.position([TopicPartition(self.target, partition)])
        return at.offset


def acknowledged(error, _message):
    if error:
        raise Fault(f"a record of the source was refused: {error}")


def compare(place, expected, seen):
    if seen == expected:
        return
    twice = sorted({value for value in seen if seen.count(value) > 1}, key=int) if len(seen) != len(set(seen)) else []
    lost = sorted(set(expected) - set(seen), key=int)
    if twice:
        raise Fault(f"{place}: {len(twice)} records were copied twice: {twice[:10]}")
    if lost:
        raise Fault(f"{place}: {len(lost)} records are lost: {lost[:10]}")
    raise Fault(f"{place}: records are copied that were never there, or in another order")


def run(rounds, seed, plant=None, ways=None, records=None, kills=5, tell=print):
    rng = random.Random(seed)
    for name in ways or WAYS:
        way, started = WAYS[name], time.monotonic()
        sums = {"broker": 0, "copier": 0, "vain": 0, "starts": 0}
        with tempfile.TemporaryDirectory(prefix="dohle-copies-") as folder:
            broker = Broker(Path(folder), free_port(), SETTINGS).start()
            try:
                for number in range(rounds):
                    one = Round(broker, way, f"{name}-{number}", records or way.records, rng)
                    sums["starts"] += one.run(kills)
                    sums["vain"] += one.judge(plant)
                    for kind, count in one.blows.items():
                        sums[kind] += count
                    assert not plant, f"the planted fault '{plant}' was not noticed"
            except BaseException:
                print("--- copiers.log ---", (broker.folder / "copiers.log").read_text(errors="replace")[-2000:], sep="\n", flush=True)
                raise
            finally:
                broker.kill()
        count = rounds * (records or way.records) * len(PARTITIONS)
        tell(f"copies: {name}: {rounds} rounds, {count} records copied exactly once and in order, {sums['vain']} more were written and "
             f"aborted; kill -9 of the broker {sums['broker']} times, of a copier {sums['copier']} times ({sums['starts']} copiers started); "
             f"{time.monotonic() - started:.0f} s, seed {seed}", flush=True)
