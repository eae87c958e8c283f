"""R2: transactional writers of librdkafka and Java, readers, and a watcher of offsets, while broker and writers are killed."""

import random
import struct
import tempfile
import threading
import time
from pathlib import Path

import crc32c
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition, OFFSET_BEGINNING
from confluent_kafka.admin import AdminClient, NewTopic

from crash import plants
from crash.history import Fault
from crash.judge import ABORTED, ASKED, COMMITTED, History
from crash.kills import keep
from harness import raw
from harness.broker import Broker, free_port
from harness.clients import Refused, Transactions, committed

TOPICS = ("ledger", "journal", "diary")
PARTITIONS = (0, 1)
PLACES = [(topic, partition) for topic in TOPICS for partition in PARTITIONS]
WRITERS = ("librdkafka", "librdkafka", "java", "java")
SETTINGS = {"auto.create.topics.enable": "false", "offsets.topic.segment.bytes": "1048576", "transaction.state.log.num.partitions": "4"}
FAST = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "log_level": 2}
# Planted in the broker's files between kill and start; in what the checker reads; or done by another client.
PLANTS = ("flipped", "forgotten", "unseen", "doubled", "swapped", "uncommitted", "back")


class Writer(threading.Thread):
    """A writer that goes through client processes: each is killed now and then, and another takes its name."""

    def __init__(self, client, name, broker, history, rng):
        super().__init__(daemon=True)
        self.client, self.name_of_it, self.broker, self.history, self.rng = client, name, broker, history, rng
        self.number = 0
        self.processes = 0
        self.fault = None
        self.ending = threading.Event()

    def run(self):
        try:
            while not self.ending.is_set():
                self.one_process()
            self.leave_nothing_open()
        except BaseException as error:
            self.fault = error

    def one_process(self):
        self.processes += 1
        left = self.rng.randrange(20, 120)
        try:
            with Transactions(self.client, self.broker, self.name_of_it) as session:
                while left and not self.ending.is_set():
                    left -= 1
                    # The last one is left in the middle: leaving the block kills the process.
                    self.one(session, torn=left == 0 and self.rng.random() < 0.7)
        except (Refused, AssertionError, OSError):
            # The client says that it cannot go on, or has ended: the next process fences it.
            pass

    def leave_nothing_open(self):
        """A last process aborts what the one before it left."""
        for attempt in range(3):
            try:
                with Transactions(self.client, self.broker, self.name_of_it) as session:
                    return session.ask("begin")
            except AssertionError:
                if attempt == 2:
                    raise

    def one(self, session, torn):
        transaction = self.history.begin(self.name_of_it, self.number)
        self.number += 1
        session.ask("begin")
        for _ in range(self.rng.randrange(1, 6)):
            place = self.rng.choice(PLACES)
            transaction.records.append(place)
            session.ask("send", *place, transaction.value(len(transaction.records) - 1))
        session.ask("flush")
        if self.rng.random() < 0.5:
            transaction.offset = transaction.number
            session.ask("offsets", self.name_of_it, TOPICS[0], {"0": transaction.offset, "1": transaction.offset})
        if torn:
            return
        if self.rng.random() < 0.3:
            session.ask("abort")
            transaction.state = ABORTED
        else:
            transaction.state = ASKED
            session.ask("commit")
            transaction.state = COMMITTED


class Watch(threading.Thread):
    """Reads committed records and committed offsets all the time."""

    def __init__(self, broker, history, writers):
        super().__init__(daemon=True)
        self.broker, self.history, self.writers = broker, history, writers
        self.fault = None
        self.ending = threading.Event()

    def run(self):
        try:
            consumer = reader(self.broker, "read_committed")
            consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in PLACES])
            while not self.ending.is_set():
                for message in consumer.consume(1000, timeout=0.05):
                    if not message.error():
                        self.history.see((message.topic(), message.partition()), message.offset(), message.value().decode())
                for writer in self.writers:
                    self.look(writer)
            consumer.close()
        except BaseException as error:
            self.fault = error

    def look(self, writer):
        offset = committed_offset(self.broker, writer)
        if offset is not None:
            self.history.offset(writer, offset)


def committed_offset(broker, writer):
    """Where a writer's group stands; None when nobody answers, or a transaction of it is being decided."""
    try:
        with raw.Connection(broker, timeout=5) as connection:
            found = raw.committed_offsets(connection, writer, TOPICS[0], PARTITIONS)
    except OSError:
        return None
    if found is None:
        return None
    offsets = set(found.values())
    if len(offsets) > 1:
        raise Fault(f"group {writer} stands at {sorted(offsets)}: torn")
    return offsets.pop()


def reader(broker, isolation):
    return Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "unused", "enable.auto.commit": False, "check.crcs": True,
                     "isolation.level": isolation, **FAST})


def read(broker, isolation):
    """place -> [(offset, value)], up to the end; the markers of the last transactions may be on their way."""
    consumer, all_of_it = reader(broker, isolation), reader(broker, "read_uncommitted")
    rows = {place: [] for place in PLACES}
    limit = time.monotonic() + 60
    for place in PLACES:
        while True:
            stable, end = (one.get_watermark_offsets(TopicPartition(*place), timeout=30)[1] for one in (consumer, all_of_it))
            if stable == end:
                break
            if time.monotonic() > limit:
                raise Fault(f"{place}: a transaction stays open at {stable} of {end}")
            time.sleep(0.05)
        at = TopicPartition(*place, OFFSET_BEGINNING)
        consumer.assign([at])
        while consumer.position([at])[0].offset < end:
            assert time.monotonic() < limit, f"{place}: nothing more comes before {end}"
            for message in consumer.consume(5000, timeout=0.2):
                if message.error():
                    raise Fault(f"{place}: librdkafka: {message.error()}")
                rows[place].append((message.offset(), message.value().decode()))
    consumer.close()
    all_of_it.close()
    return rows


def plant_in_files(plant, data):
    if plant == "forgotten":
        for path in data.glob("__transaction_state-*/*.log"):
            path.write_bytes(b"")
    if plant == "flipped":
        for path in sorted(data.glob(f"{TOPICS[0]}-0/*.log"))[-1:]:
            parts = plants.pieces(path.read_bytes())
            markers = [at for at, part in enumerate(parts) if is_commit(part)]
            for at in markers[-3:]:
                parts[at] = flip(parts[at])
            path.write_bytes(b"".join(parts))
            for kind in (".index", ".timeindex", ".txnindex", ".snapshot"):
                path.with_suffix(kind).unlink(missing_ok=True)


# Where a control batch's only record has the type of the marker: behind head, lengths and the version.
MARKER_TYPE = 61 + 8


def is_commit(part):
    return part[22] & 0x20 and part[MARKER_TYPE] == 1


def flip(part):
    """A marker that says the contrary, with a right checksum."""
    part = bytearray(part)
    part[MARKER_TYPE] ^= 1
    part[17:21] = struct.pack(">I", crc32c.crc32c(bytes(part[21:])))
    return bytes(part)


def plant_in_rows(plant, rows):
    place = max(rows, key=lambda place: len(rows[place]))
    mine = rows[place]
    if plant == "unseen":
        del mine[len(mine) // 2]
    elif plant == "doubled":
        mine.append((mine[-1][0] + 1, mine[0][1]))
    elif plant == "swapped":
        writer = lambda row: row[1].split("/")[0]
        at = next(at for at in range(len(mine) - 1) if writer(mine[at]) == writer(mine[at + 1]))
        (one, first), (other, second) = mine[at], mine[at + 1]
        mine[at:at + 2] = [(one, second), (other, first)]


def run(kills, seed, plant=None, clients=WRITERS, tell=print):
    rng = random.Random(seed)
    started = time.monotonic()
    history = History()
    with tempfile.TemporaryDirectory(prefix="dohle-histories-") as folder:
        broker = Broker(Path(folder), free_port(), SETTINGS).start()
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, **FAST})
        for future in admin.create_topics([NewTopic(topic, len(PARTITIONS), 1) for topic in TOPICS]).values():
            future.result(60)
        writers = [Writer(client, f"{client}-{number}", broker, history, random.Random(seed * 100 + number)) for number, client in enumerate(clients)]
        watch = Watch(broker, history, [writer.name_of_it for writer in writers])
        try:
            for thread in (*writers, watch):
                thread.start()
            for kill in range(kills):
                progress(writers, watch, broker)
                time.sleep(rng.uniform(0.0, 0.5))
                broker.kill()
                if plant and kill == kills - 1:
                    plant_in_files(plant, broker.data)
                broker.start()
            progress(writers, watch, broker)
            for writer in writers:
                writer.ending.set()
            finish(writers, watch, broker)
            if plant == "back":
                # A writer that is still at work would commit over it before anybody looks.
                old = ConsumerGroupTopicPartitions(writers[0].name_of_it, [TopicPartition(TOPICS[0], p, 0) for p in PARTITIONS])
                admin.alter_consumer_group_offsets([old])[writers[0].name_of_it].result(30)
            watch_to_the_end(broker, history, watch)
            rows = read(broker, "read_uncommitted" if plant == "uncommitted" else "read_committed")
            plant_in_rows(plant, rows)
            visible = history.judge(rows)
            for topic in TOPICS:
                java = committed("java", broker, topic, "")
                for partition in PARTITIONS:
                    assert java[partition] == [value for _, value in rows[topic, partition]], f"Java and librdkafka see different records of {topic}-{partition}"
            assert not plant, f"the planted fault '{plant}' was not noticed"
        except BaseException:
            keep(broker)
            raise
        finally:
            for thread in (*writers, watch):
                thread.ending.set()
            broker.kill()
    every = [transaction for of in history.transactions.values() for transaction in of.values()]
    count = lambda state: sum(transaction.state == state for transaction in every)
    tell(f"histories: {kills} kills of the broker, {sum(writer.processes for writer in writers)} writers; {len(every)} transactions begun, {count(COMMITTED)} "
         f"acknowledged as committed, {count(ABORTED)} as aborted, {count(ASKED)} asked for and not answered; {visible} are visible, in {sum(map(len, rows.values()))} "
         f"records; {sum(map(len, history.seen.values()))} records and {sum(map(len, history.moves.values()))} offsets seen meanwhile")
    tell(f"histories: 0 lost, 0 doubled, 0 out of order, 0 aborted and seen, 0 torn, 0 offsets moved back; {time.monotonic() - started:.0f} s, seed {seed}", flush=True)


def check(writers, watch, broker):
    for thread in (*writers, watch):
        if thread.fault:
            raise thread.fault
    assert broker.alive(), f"the broker ended by itself: {broker.log_tail()}"


def progress(writers, watch, broker):
    """Waits until every writer has begun a transaction since, and together they have begun some more."""
    before = [writer.number for writer in writers]
    limit = time.monotonic() + 180
    while sum(writer.number for writer in writers) < sum(before) + 12 or any(writer.number == number for writer, number in zip(writers, before)):
        check(writers, watch, broker)
        assert time.monotonic() < limit, f"no progress: {before}"
        time.sleep(0.01)


def finish(writers, watch, broker):
    limit = time.monotonic() + 300
    while any(writer.is_alive() for writer in writers):
        check(writers, watch, broker)
        assert time.monotonic() < limit, "writers do not come to an end"
        time.sleep(0.05)


def watch_to_the_end(broker, history, watch):
    """Once more where each group stands, when everything is decided."""
    read(broker, "read_committed")
    watch.ending.set()
    watch.join(60)
    if watch.fault:
        raise watch.fault
    for writer in watch.writers:
        limit = time.monotonic() + 60
        while (offset := committed_offset(broker, writer)) is None:
            assert time.monotonic() < limit, f"group {writer} does not say where it stands"
            time.sleep(0.05)
        history.offset(writer, offset)
