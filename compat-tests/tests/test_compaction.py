"""Compacted topics: what real clients wrote is compacted, read by all, and understood by Apache Kafka, and the other
way round."""

import random

import pytest
from confluent_kafka import Consumer, TopicPartition

from harness import raw
from harness.admin import new_topic
from harness.broker import Broker, free_port, start
from harness.clients import CODECS, dump, produce
from harness.kafka import Kafka
from harness.metrics import figures
from harness.tools import tool
from harness.wait import until

READERS = ["java", "librdkafka", "franz-go", "kafka-python"]
KEYS = 300
QUICK = {"log.cleaner.backoff.ms": "100"}


def rows(count, seed):
    """Rows over few keys; every eighth is a tombstone, and the values hardly compress."""
    chance = random.Random(seed)
    return [[f"k{chance.randrange(KEYS)}", None if i % 8 == 0 else chance.randbytes(200).hex()] for i in range(count)]


def fill(broker, topic, last, turn):
    """Every codec, each from one of two clients; `last` learns the last value of each key."""
    for number, codec in enumerate(CODECS):
        sent = rows(3000, f"{turn} {codec}")
        produce(["java", "librdkafka"][(number + turn) % 2], broker, topic, codec, sent)
        last.update(dict(sent))


def end_of(broker, topic):
    with raw.Connection(broker) as c:
        return raw.list_offset(c, topic, 0, -1)[2]


def cleaned_to(broker, topic):
    """Where the dirty part of the topic's partition begins."""
    path = broker.data / "cleaner-offset-checkpoint"
    lines = path.read_text().split("\n")[2:] if path.exists() else []
    return next((int(line.split()[2]) for line in lines if line.startswith(f"{topic} 0 ")), 0)


def active_base(broker, topic):
    return max(int(path.stem) for path in (broker.data / f"{topic}-0").glob("*.log"))


def settled(broker, topic):
    base = active_base(broker, topic)
    return base > 0 and cleaned_to(broker, topic) == base


def check(broker, topic, last, clients=READERS):
    """All clients read the same: the last value of each key, in order, and one record of each in the compacted part."""
    found, compacted = None, cleaned_to(broker, topic)
    for client in clients:
        records = dump(client, broker, topic)
        offsets = [record[1] for record in records]
        assert offsets == sorted(set(offsets)), client
        values = {key: value for _, _, _, key, value, *_ in records}
        gone = {key for key in last if key not in values}
        assert all(last[key] is None for key in gone), client
        assert values == {key: value for key, value in last.items() if key not in gone}, client
        plain = [record[:5] for record in records]
        assert found in (None, plain), client
        found = plain
    keys = [key for _, offset, _, key, _ in found if offset < compacted]
    assert len(keys) == len(set(keys)) > KEYS / 2


def check_files(broker, topic):
    """kafka-dump-log reads the topic's segments and finds their indexes right."""
    logs = sorted((broker.data / f"{topic}-0").glob("*.log"))
    names = lambda suffix: ",".join(str(path.with_suffix(suffix)) for path in logs)
    text = tool("dump-log", "--files", names(".log"))
    assert "isvalid: true" in text and "isvalid: false" not in text and "Found invalid" not in text, text[-2000:]
    for suffix in (".index", ".timeindex"):
        text = tool("dump-log", "--index-sanity-check", "--files", names(suffix))
        # What is left of a segment may be too short for an entry.
        judged = text.count("passed sanity check") + text.count(".index is empty.")
        assert judged == len(logs) and "Exception" not in text, text[-2000:]
        text = tool("dump-log", "--verify-index-only", "--files", names(suffix))
        assert "Mismatches" not in text and "Exception" not in text, text[-2000:]
        # A segment that holds emptied batches alone is dated by them and has no record: so are those that Kafka compacts.
        found = [line for line in text.splitlines() if "log timestamp" in line]
        assert all(line.endswith("log timestamp: -1") for line in found), text[-2000:]


def test_a_compacted_topic_holds_the_last_value_of_each_key_for_every_client(folder):
    port = free_port()
    broker = start(folder, log_cleaner_backoff_ms=100, dohle_admin_listeners=f"127.0.0.1:{port}")
    last = {}
    try:
        topic = new_topic(broker, "compacted", cleanup_policy="compact", segment_bytes=1048576, min_cleanable_dirty_ratio=0.01, delete_retention_ms=0)
        fill(broker, topic, last, 1)
        total = end_of(broker, topic)
        assert total == 15000
        until(lambda: settled(broker, topic), "the topic is compacted")
        check(broker, topic, last)
        seen = figures(port)
        assert seen.value("dohle_log_compactions_total") >= 1
        assert seen.sum("kafka_log_logcleanermanager_uncleanable_partitions_count") == 0
        assert seen.value("kafka_log_logcleanermanager_time_since_last_run_ms") is not None
        assert seen.value("kafka_log_logcleaner_cleaner_recopy_percent") is not None
        broker.kill()
        broker.start()
        check(broker, topic, last, ["java"])
        assert end_of(broker, topic) == total
        assert broker.stop() == 0, broker.log_tail()
        check_files(broker, topic)
        assert "cannot compact" not in broker.log_text()
    finally:
        broker.kill()


@pytest.mark.parametrize("first", [Broker, Kafka], ids=["begun by us", "begun by Kafka"])
def test_two_brokers_compact_one_folder_in_turns(folder, first):
    second = Kafka if first is Broker else Broker
    broker = first(folder, free_port(), QUICK).start()
    last, total, topic = {}, 0, None
    try:
        for turn, kind in enumerate([first, second, first]):
            if turn:
                broker = kind(folder, free_port(), QUICK).start()
                check(broker, topic, last, ["librdkafka"])
            else:
                topic = new_topic(broker, "turns", cleanup_policy="compact", segment_bytes=1048576, min_cleanable_dirty_ratio=0.01)
            fill(broker, topic, last, turn)
            total += 15000
            until(lambda: settled(broker, topic), "the topic is compacted", 60)
            check(broker, topic, last, ["java"])
            assert end_of(broker, topic) == total
            # Both also read what the other left without a goodbye.
            if turn == 1:
                broker.kill()
            else:
                assert broker.stop() in (0, 143), broker.log_tail()
                check_files(broker, topic)
    finally:
        broker.kill()


def test_committed_offsets_are_compacted_and_outlast_it(folder):
    broker = start(folder, log_cleaner_backoff_ms=100, offsets_topic_segment_bytes=1048576, offsets_topic_num_partitions=1)
    try:
        topic = new_topic(broker, "read")
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "reader", "enable.auto.commit": False})
        for offset in range(1, 1001):
            consumer.commit(offsets=[TopicPartition(topic, 0, offset, "m" * 4000)], asynchronous=False)
        size = lambda: sum(path.stat().st_size for path in (broker.data / "__consumer_offsets-0").glob("*.log"))
        until(lambda: size() < 1300000, "the offsets are compacted")
        broker.kill()
        broker.start()
        assert consumer.committed([TopicPartition(topic, 0)], timeout=60)[0].offset == 1000
        consumer.close()
    finally:
        broker.kill()
