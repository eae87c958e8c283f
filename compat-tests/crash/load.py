"""The load: many lanes that produce in every way, committers, and a hand that makes and deletes topics."""

import asyncio
import random
import time
from collections import deque

from crash import batch, wire
from crash.history import Commits, Partition, Sent
from crash.wire import Connection, Down

WINDOW = 5
# Errors after which an idempotent producer sends again.
AGAIN = {wire.STORAGE, wire.OUT_OF_ORDER, 7, 15, 16, 6, 3}

# Every kind of topic: name -> (settings, how many, partitions of each).
KINDS = {
    "plain": ({}, 12, 2),
    "rolls": ({"segment.index.bytes": 400, "index.interval.bytes": 0}, 6, 2),
    "timed": ({"segment.ms": 250, "index.interval.bytes": 0}, 4, 1),
    "short": ({"segment.index.bytes": 400, "index.interval.bytes": 0, "retention.bytes": 2000000, "file.delete.delay.ms": 100}, 6, 1),
    "large": ({"segment.bytes": 1048576}, 4, 1),
    "flushed": ({"flush.messages": 20}, 3, 1),
    "again": ({"compression.type": "zstd"}, 2, 1),
}


class Lane:
    """One producer to one partition: its batches are numbered by turns."""

    # Timestamps of the last hours, so that retention by time leaves them alone.
    numbers = int(time.time() * 1000) - 10_000_000

    def __init__(self, name, partition, acks, idempotent, codec, rng, synced):
        self.name, self.partition, self.acks, self.idempotent, self.codec = name, partition, acks, idempotent, codec
        # Whether an acknowledgement says that the batch is on stable storage.
        self.synced = synced
        self.rng = rng
        self.turn = 0
        self.last = -1
        self.void = set()
        self.pending = deque()
        self.producer = None
        self.sequence = 0
        self.refused = 0
        self.acked = 0
        self.errors = {}

    def repeats(self, cut):
        return self.idempotent and (self.synced or not cut)

    def order(self, sent, partition):
        expected = sent.turn if self.last is None else self.last + 1
        while expected < sent.turn and expected in self.void:
            expected += 1
        if expected != sent.turn:
            what = "out of order" if sent.turn <= self.last else f"stored, but {expected} of the same producer, sent before it, is not"
            partition.fault(f"turn {sent.turn} of lane {self.name} is {what}")
        self.last = sent.turn

    def forget(self):
        """After a power cut a producer without sync begins anew, with another id."""
        self.pending.clear()
        self.producer = None

    def make(self):
        count = self.rng.choice((1, 1, 3, 8, 20))
        size = self.rng.choice((10, 100, 400)) if self.partition.topic.split("-")[0] != "large" else 3000
        Lane.numbers += 1
        producer = (-1, -1, -1)
        if self.idempotent:
            producer = (self.producer, 0, self.sequence)
            self.sequence += count
        data = batch.build(Lane.numbers, self.codec, count, size, producer)
        sent = Sent(Lane.numbers, self, self.turn, count, next(batch.walk(data)).crc)
        self.turn += 1
        self.partition.send(sent)
        return sent, data

    async def run(self, load):
        try:
            connection = await load.connect()
            if self.idempotent and self.producer is None:
                self.producer, self.sequence = await load.new_producer(connection), 0
            while not load.stopping:
                await self.send_until_refused(connection, load)
        except Down:
            pass

    async def send_until_refused(self, connection, load):
        """Keeps the window full; returns when an answer was an error and everything in flight has been answered."""
        flight = deque()
        queue = deque(self.pending)
        refused = False
        while flight or not (refused or load.stopping):
            while len(flight) < WINDOW and not (refused or load.stopping):
                sent, data = queue.popleft() if queue else self.make()
                if self.idempotent and (not self.pending or self.pending[-1][0].turn < sent.turn):
                    self.pending.append((sent, data))
                body = wire.produce(self.partition.topic, self.partition.index, self.acks, data)
                flight.append((sent, connection.send(wire.PRODUCE, 8, body, answer=self.acks != 0)))
            if not flight:
                break
            sent, future = flight.popleft()
            answer = await asyncio.wait_for(future, 40)
            if self.acks == 0:
                await asyncio.sleep(0.004)
                continue
            error, base = wire.produced(answer)
            if error in (0, 46):
                self.acked += 1
                self.partition.acknowledge(sent, base)
                if self.idempotent:
                    first = self.pending.popleft()[0]
                    assert first is sent, f"lane {self.name}: turn {sent.turn} was taken ({error}) before turn {first.turn}; errors {self.errors}"
                load.progress(sent)
            else:
                refused = True
                self.refuse(sent, error)
            await asyncio.sleep(load.pace)
        if refused:
            await asyncio.sleep(0.02)

    def refuse(self, sent, error):
        self.refused += 1
        self.errors[error] = self.errors.get(error, 0) + 1
        assert error in AGAIN, f"lane {self.name}: error {error}"
        if not self.idempotent:
            self.void.add(sent.turn)


class Load:
    """Everything that a run sends, over many lives of the broker."""

    def __init__(self, broker, seed, topics=1.0, pace=0.002, active=30, retention=None, kinds=tuple(KINDS)):
        self.broker, self.rng = broker, random.Random(seed)
        self.pace, self.active = pace, active
        # Settings that every topic gets on top, so that a long run does not fill the disk.
        self.retention = retention or {}
        self.kinds = kinds
        self.partitions, self.lanes, self.commits = [], [], []
        self.producers = set()
        self.made, self.unsure = set(), set()
        self.gone = set()
        self.stopping = False
        self.records = 0
        self.progressed = 0
        self.connections = []
        self.plan(topics)

    def plan(self, share):
        ways = [(-1, True), (-1, True), (-1, False), (1, False), (1, True), (0, False)]
        for kind in self.kinds:
            _settings, many, partitions = KINDS[kind]
            for index in range(max(1, round(many * share))):
                for part in range(partitions):
                    retained = kind == "short" or bool(self.retention)
                    partition = Partition(f"{kind}-{index}", part, retained, rewritten=kind == "again")
                    partition.unread_may_go = bool(self.retention)
                    self.partitions.append(partition)
                    # Two producers to one partition wherever that is possible, one of them idempotent and synced.
                    for acks, idempotent in (ways[0], ways[(index + part) % len(ways)]):
                        codec = batch.CODECS[len(self.lanes) % len(batch.CODECS)]
                        name = f"{partition.name}/acks={acks}{'/idempotent' if idempotent else ''}/{codec}"
                        self.lanes.append(Lane(name, partition, acks, idempotent, codec, self.rng, synced=acks == -1))
        for group in range(8):
            for part in range(2):
                self.commits.append(Commits(f"group-{group}", "plain-0", part))

    async def make_topics(self):
        connection = await self.connect()
        for topic in sorted({partition.topic for partition in self.partitions}):
            count = sum(partition.topic == topic for partition in self.partitions)
            error = await wire.create_topic(connection, topic, count, KINDS[topic.split("-")[0]][0] | self.retention)
            assert error == 0, f"creating {topic}: error {error}"
        while await wire.find_coordinator(connection, self.commits[0].group):
            await asyncio.sleep(0.02)
        await self.close()

    async def connect(self):
        connection = await Connection.open(self.broker.port)
        self.connections.append(connection)
        return connection

    async def close(self):
        connections, self.connections = self.connections, []
        await asyncio.gather(*(connection.close() for connection in connections))

    async def new_producer(self, connection):
        error, number = await wire.producer_id(connection)
        while error in AGAIN | {14} and not self.stopping:
            await asyncio.sleep(0.02)
            error, number = await wire.producer_id(connection)
        if error in AGAIN | {14}:
            raise Down("no producer id came")
        assert error == 0, f"InitProducerId: error {error}"
        assert number not in self.producers, f"producer id {number} was given twice"
        self.producers.add(number)
        return number

    def progress(self, sent):
        self.progressed += 1
        self.records += sent.count

    async def commit(self, group):
        """Commits rising offsets of one group, as fast as they are answered."""
        try:
            connection = await self.connect()
            mine = [commits for commits in self.commits if commits.group == group]
            while not self.stopping:
                offsets = {}
                for commits in mine:
                    commits.sent += 1
                    offsets[commits.partition] = commits.sent
                errors = await wire.commit(connection, group, mine[0].topic, offsets)
                assert errors <= AGAIN | {14}, f"commit of {group}: errors {errors}"
                if not errors:
                    for commits in mine:
                        commits.acked = offsets[commits.partition]
                await asyncio.sleep(self.pace)
        except Down:
            pass

    async def change_topics(self):
        """Deletes topics and makes one; what the broker confirmed holds."""
        try:
            connection = await self.connect()
            while len(self.made) > 4:
                name = self.rng.choice(sorted(self.made))
                self.made.discard(name)
                self.unsure.add(name)
                if await wire.delete_topic(connection, name) == 0:
                    self.unsure.discard(name)
                    self.gone.add(name)
            name = f"made-{len(self.producers)}-{self.rng.randrange(10 ** 9)}"
            self.unsure.add(name)
            if await wire.create_topic(connection, name, 2, {}) == 0:
                self.unsure.discard(name)
                self.made.add(name)
            await self.new_producer(connection)
        except Down:
            pass

    def start(self, lanes=None):
        """Sets a random part of the load going; the tasks end with the broker or with `stop`."""
        self.stopping = False
        self.running = lanes or self.rng.sample(self.lanes, min(self.active, len(self.lanes)))
        groups = sorted({commits.group for commits in self.commits})
        work = [lane.run(self) for lane in self.running]
        self.committing = self.rng.sample(groups, 4)
        work += [self.commit(group) for group in self.committing]
        work.append(self.change_topics())
        self.tasks = [asyncio.ensure_future(task) for task in work]

    def raise_faults(self):
        for task in self.tasks:
            if task.done() and not task.cancelled() and task.exception():
                raise task.exception()

    async def ended(self):
        """Waits for the tasks after the broker died or `stop`; their own faults count."""
        _done, late = await asyncio.wait(self.tasks, timeout=60)
        for task in late:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.close()
        self.raise_faults()
        assert not late, f"{len(late)} tasks of the load hang"

    async def stop(self):
        self.stopping = True
        await self.ended()
