"""MirrorMaker 2 between two of our brokers, and between us and Apache Kafka, in both directions at once: records,
headers, times, configs, partitions, and the offsets of groups, with which a reader goes on at the other side."""

import os

import pytest

from harness.broker import free_port, start
from harness.clients import Member, Refused, Session, dump, produce
from harness.kafka import Kafka
from harness.mirror import MirrorMaker
from harness.wait import until

FULL = os.environ.get("COMPAT_FULL") == "1"
RECORDS = 20000 if FULL else 900
KILLED = 900
ODD = [
    [None, "no key", [["a", "1"], ["a", "2"], ["b", None], ["c", ""], ["", "x"]]],
    ["", "empty key", []],
    ["no value", None, [["only", "a header"]]],
    ["empty value", "", []],
]


def rows(prefix, first, count):
    return ODD + [[f"{prefix} {n % 50}", f"{prefix} {n}", [["number", str(n)]]] for n in range(first, first + count)]


class Pair:
    """Two brokers and what was written to them."""

    def __init__(self, folder, b, exactly_once):
        self.folder = folder
        self.a = start(folder / "a", transaction_state_log_num_partitions="2")
        self.b = b
        self.mirror = MirrorMaker(folder, self.a, b, exactly_once)
        self.at = {"orders": (self.a, b, "a.orders"), "letters": (b, self.a, "b.letters")}
        self.sessions = {broker: Session("librdkafka", broker) for broker in (self.a, b)}
        for topic, (source, _, _) in self.at.items():
            self.sessions[source].ask("create", topic, 2, {"retention.ms": "7654321"})

    def write(self, count, codec="lz4"):
        for topic, (source, _, _) in self.at.items():
            produce("librdkafka", source, topic, codec, rows(topic, 0, count))

    def copied(self, isolation="read_uncommitted"):
        """Waits until both copies are whole, and returns each with its original."""
        found = {}
        for topic, (source, target, copy) in self.at.items():
            original = dump("librdkafka", source, topic)

            def whole():
                self.mirror.check()
                if self.written(target, copy) < len(original):
                    return False
                found[topic] = dump("librdkafka", target, copy, isolation)
                return len(found[topic]) >= len(original)

            until(whole, f"{copy} has the {len(original)} records of {topic}", 120)
            found[topic] = (found[topic], original)
        return found

    def written(self, broker, topic):
        """How many offsets a topic has, 0 while it is not there yet or has no leaders."""
        session = self.sessions[broker]
        try:
            return sum(session.offsets("times", topic, -1).values()) if topic in session.ask("topics") else 0
        except Refused:
            return 0

    def end(self):
        for session in self.sessions.values():
            session.close()
        self.mirror.kill()
        self.a.kill()
        self.b.kill()


def without_offsets(records):
    return [[record[0], *record[2:]] for record in records]


def ours(folder):
    return start(folder / "b", transaction_state_log_num_partitions="2")


def kafkas(folder):
    settings = {"transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1", "transaction.state.log.num.partitions": "2"}
    return Kafka(folder / "b", free_port(), settings).start()


@pytest.fixture
def pair(folder, request):
    b, exactly_once = request.param
    pair = Pair(folder, b(folder), exactly_once)
    try:
        yield pair
    finally:
        pair.end()


@pytest.mark.parametrize("pair", [(ours, False), (kafkas, False)], ids=["ours", "kafkas"], indirect=True)
def test_records_configs_and_offsets_of_groups_are_mirrored_both_ways(pair):
    pair.write(RECORDS)
    pair.mirror.start()
    for topic, (copy, original) in pair.copied().items():
        assert copy == original, topic  # also partition, offset and time of each record

    # Partitions that are added and configs that are changed follow.
    sides = {topic: (pair.sessions[source], pair.sessions[target], copy) for topic, (source, target, copy) in pair.at.items()}
    for topic, (source, _, _) in sides.items():
        source.ask("grow", topic, 3)
        source.ask("alter", topic, {"retention.ms": "8765432"})
    for topic, (_, target, copy) in sides.items():
        until(lambda: target.ask("describe", copy) == 3, f"{copy} has three partitions", 30)
        until(lambda: target.ask("configs", copy)["retention.ms"] == "8765432", f"{copy} has the config of {topic}", 30)

    # The source goes down and comes back, and so does MirrorMaker; it goes on where it was.
    pair.a.restart()
    pair.mirror.stop()
    pair.write(RECORDS, "zstd")
    pair.mirror.start()
    for topic, (copy, original) in pair.copied().items():
        assert copy == original, topic

    # A group that has read all at one side goes on at the other side with what came later.
    ends = {}
    for topic, (source, _, _) in sides.items():
        ends[topic] = source.offsets("times", topic, -1)
        source.ask("commit", f"readers-{topic}", topic, ends[topic])
    for topic, (_, target, copy) in sides.items():
        reached = {partition: end for partition, end in ends[topic].items() if end}
        until(lambda: target.offsets("committed", f"readers-{topic}", copy) == reached, f"readers-{topic} is at the end of {copy}", 60)
    pair.write(100)
    copies = pair.copied()
    for topic, (_, target, copy) in pair.at.items():
        later = {(record[0], record[1]) for record in copies[topic][0] if record[1] >= ends[topic].get(record[0], 0)}
        member = Member("librdkafka", target, copy, f"readers-{topic}")
        try:
            until(lambda: set(member.records) >= later, f"the reader of {copy} has what came later", 60)
            assert set(member.records) == later
            member.leave()
        finally:
            member.kill()


@pytest.mark.parametrize("pair", [(ours, True)], ids=["ours"], indirect=True)
def records_are_mirrored_exactly_once_although_all_are_killed(pair):
    pair.write(KILLED)
    pair.mirror.start()
    pair.copied("read_committed")
    pair.write(KILLED, "gzip")
    pair.mirror.kill()
    pair.a.kill()
    pair.b.kill()
    pair.a.start()
    pair.b.start()
    pair.write(KILLED, "snappy")
    pair.mirror.start()
    for topic, (copy, original) in pair.copied("read_committed").items():
        assert without_offsets(copy) == without_offsets(original), topic
    for session in pair.sessions.values():
        assert "__transaction_state" in session.ask("topics"), "it was not done in transactions"


# Two starts of MirrorMaker and the time-outs of what was killed take a minute.
if FULL:
    test_records_are_mirrored_exactly_once_although_all_are_killed = records_are_mirrored_exactly_once_although_all_are_killed
