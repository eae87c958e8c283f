"""Field reports F03 (two snappy framings), F05 (a record without key in a compacted topic) and F16 (append time in the
produce answer).

Small batches of every client and codec read by every other are in `test_codecs.py`, null, empty and repeated headers
(F10) in `test_headers.py`; the framings themselves are tested in `src/record/codec/tests.rs`, the index of the bad
record in every version in `src/broker/tests/data.rs`. F10 after compaction comes with compaction.
"""

import json
import struct
import subprocess
import time

import pytest

from confluent_kafka import Producer

from harness import raw
from harness.admin import new_topic
from harness.clients import COMMANDS, JAVA, dump, produce

XERIAL = bytes.fromhex("82534e4150505900")
CLIENTS = ["java", "librdkafka", "kafka-python", "kafkajs", "franz-go", "kcat"]
INVALID_RECORD = 87


def send(broker, topic, codec, rows, *extra):
    """What the Java client learns of each row of [partition, key, value, timestamp]."""
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    done = subprocess.run(
        JAVA + ["dohle.Field", "send", broker.bootstrap, topic, codec, *extra], input=lines, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def reported(broker, topic, codec, rows):
    """What librdkafka's delivery reports say of the rows: (error code, offset, timestamp type, timestamp)."""
    reports = {}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.codec": codec, "linger.ms": 500})
    for number, (partition, key, value, timestamp) in enumerate(rows):
        report = lambda error, m, number=number: reports.update({number: (error and error.code(), m.offset(), *m.timestamp())})
        producer.produce(topic, key=key, value=value, partition=partition, timestamp=timestamp, on_delivery=report)
    assert producer.flush(60) == 0
    return [reports[number] for number in range(len(rows))]


def stored(broker, topic):
    """The batches of partition 0 as they lie in the log."""
    out, at = [], 0
    with raw.Connection(broker) as c:
        while True:
            found = raw.batches(raw.fetched(raw.fetch(c, topic, {0: at}, wait=0))[0]["Records"])
            if not found:
                return out
            out += found
            at = found[-1].next


def text_rows(count):
    """About 3 MB of text that compresses as text does."""
    words = "the quick brown fox jumps over the lazy dog while seven wizards brew ale".split()
    line = lambda i: " ".join(words[(i * k + k) % len(words)] for k in range(1, 200))
    return [["key", f"{i} {line(i)}"] for i in range(count)]


@pytest.mark.parametrize("producer", CLIENTS)
def test_three_megabytes_in_either_snappy_framing_are_read_by_all(broker, producer):
    topic = new_topic(broker, f"snappy-{producer}")
    rows = text_rows(3000)
    assert 2_700_000 < sum(len(value) for _, value in rows) < 3_700_000
    produce(producer, broker, topic, "snappy", rows)
    batches = stored(broker, topic)
    assert all(batch.attributes & 7 == 2 for batch in batches), "the batches are snappy, as sent"
    framed = {batch.body.startswith(XERIAL) for batch in batches}
    assert len(framed) == 1, "one client, one framing"
    readers = {"java", "franz-go", CLIENTS[CLIENTS.index(producer) - 1], CLIENTS[CLIENTS.index(producer) - 2]}
    for client in sorted(readers):
        seen = [[r[3], r[4]] for r in dump(client, broker, topic)]
        assert seen == rows, f"{client} reads something else"


def test_what_the_broker_compresses_itself_is_a_snappy_stream_that_all_can_read(broker):
    topic = new_topic(broker, "snappy-own", compression_type="snappy")
    rows = text_rows(600)
    for producer, codec in (("java", "gzip"), ("franz-go", "none")):
        produce(producer, broker, topic, codec, rows)
    for batch in stored(broker, topic):
        assert batch.attributes & 7 == 2
        assert batch.body[:16] == XERIAL + struct.pack(">ii", 1, 1), batch.body[:16].hex()
    for client in CLIENTS:
        assert [[r[3], r[4]] for r in dump(client, broker, topic)] == rows + rows, client


def test_a_batch_is_stored_as_it_was_sent_but_for_its_offset_and_epoch(broker):
    topic = new_topic(broker, "bytes")
    sent = raw.batch([(b"k", b"v" * 100), (None, None)])
    with raw.Connection(broker) as c:
        raw.produce(c, topic, 0, [(b"before", b"x")])
        assert raw.produce(c, topic, 0, sent)["ErrorCode"] == 0
        got = raw.fetched(raw.fetch(c, topic, {0: 1}))[0]["Records"]
    assert struct.unpack(">q", got[:8])[0] == 1
    assert got[8:12] == sent[8:12] and got[16:] == sent[16:]


def test_a_record_without_key_is_refused_once_and_harms_nobody_else(broker):
    topic = new_topic(broker, "keyless", partitions=2, cleanup_policy="compact")
    rows = [[0, "k", "1"], [0, "k", "2"], [0, None, "3"], [0, "k", "4"], [0, "k", "5"], [1, "k", "other"]]
    answers = send(broker, topic, "none", rows)
    assert [a["error"] for a in answers[:5]] == ["KafkaException"] * 2 + ["InvalidRecordException"] + ["KafkaException"] * 2, answers
    assert "key" in answers[2]["message"], answers[2]
    assert answers[5]["offset"] == 0, "the other partition of the request is unharmed"
    (alone,) = send(broker, topic, "lz4", [[0, None, "alone"]])
    assert alone["error"] == "InvalidRecordException", alone
    codes = [r[0] for r in reported(broker, topic, "none", [(0, b"k", b"1", 0), (0, None, b"2", 0), (0, b"k", b"3", 0)])]
    assert codes == [INVALID_RECORD] * 3, codes
    done = subprocess.run(["kcat", "-P", "-b", broker.bootstrap, "-t", topic, "-p", "0"], input="no key\n", capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "Delivery failed" in done.stderr, done.stderr
    done = subprocess.run(COMMANDS["franz-go"] + ["produce", broker.bootstrap, topic, "none"], input='[null, "v"]\n', capture_output=True, text=True, timeout=60)
    assert '"failed":1' in done.stdout and "INVALID_RECORD" in done.stderr, done
    assert [(r[0], r[4]) for r in dump("librdkafka", broker, topic)] == [(1, "other")], "nothing of the refused batches is stored"


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_the_answer_tells_the_append_time_that_is_stored(broker, codec):
    topic = new_topic(broker, f"append-time-{codec}", message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    client_times = [before - 7_200_000, before - 3_600_000]
    java = send(broker, topic, codec, [[0, "k", "a", client_times[0]], [0, "k", "b", client_times[1]]])
    librdkafka = reported(broker, topic, codec, [(0, b"k", b"c", client_times[0]), (0, b"k", b"d", client_times[1])])
    after = int(time.time() * 1000)
    batches = stored(broker, topic)
    assert [batch.count for batch in batches] == [2, 2], "each client sent one batch"
    for batch, told in zip(batches, [{a["timestamp"] for a in java}, {r[3] for r in librdkafka}]):
        assert batch.attributes & 8, "the attribute says whose time it is"
        assert told == {batch.max_time}, "the answer carries the stored time"
        assert before <= batch.max_time <= after
    # A timestamp type of 2 is librdkafka's word for the broker's time.
    assert {r[2] for r in librdkafka} == {2}
    times = [batches[0].max_time] * 2 + [batches[1].max_time] * 2
    for client in CLIENTS:
        assert [r[2] for r in dump(client, broker, topic)] == times, client
    with raw.Connection(broker) as c:
        assert raw.list_offset(c, topic, 0, before)[2] == 0
        assert raw.list_offset(c, topic, 0, batches[1].max_time)[2] in (0, 2)
        assert raw.list_offset(c, topic, 0, after + 1)[1:] == (-1, -1)


def test_a_topic_with_the_producers_times_answers_no_append_time(broker):
    topic = new_topic(broker, "create-time")
    with raw.Connection(broker) as c:
        assert raw.produce(c, topic, 0, [(b"k", b"v")])["LogAppendTimeMs"] == -1
    at = int(time.time() * 1000) - 3_600_000
    (java,) = send(broker, topic, "none", [[0, "k", "v", at]])
    assert java == {"offset": 1, "timestamp": at}
    assert reported(broker, topic, "none", [(0, b"k", b"v", at)]) == [(None, 2, 1, at)]


def test_the_last_records_of_a_partition_named_twice_count(broker):
    topic = new_topic(broker, "twice", partitions=2)
    batch = lambda *values: raw.batch([(None, v) for v in values])
    with raw.Connection(broker) as c:
        parts = [(0, batch(b"1")), (1, batch(b"x")), (0, batch(b"2", b"3"))]
        (answer,) = c.call("Produce", 9, raw.produce_request(topic, parts))["Responses"]
        assert sorted((p["Index"], p["ErrorCode"], p["BaseOffset"]) for p in answer["PartitionResponses"]) == [(0, 0, 0), (1, 0, 0)]
        request = raw.produce_request(topic, [(0, batch(b"4"))])
        request["TopicData"] += raw.produce_request(topic, [(0, batch(b"5"))])["TopicData"]
        (answer,) = c.call("Produce", 9, request)["Responses"]
        assert [(p["Index"], p["BaseOffset"]) for p in answer["PartitionResponses"]] == [(0, 2)]
    assert [(r[0], r[4]) for r in dump("franz-go", broker, topic)] == [(0, "2"), (0, "3"), (0, "5"), (1, "x")]
