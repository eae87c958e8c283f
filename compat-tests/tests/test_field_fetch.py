"""Field reports F04 (a first batch larger than the fetch limit), F17 (long polls on quiet topics) and F18 (the offset
for a time after the last record).

How limits are shared among partitions is tested in `src/replica/tests.rs`, sessions in
`src/broker/data/fetch_session/tests.rs`. Fetches under read_committed with an open transaction (part of F18) are in
`test_transactions.py`.
"""

import json
import os
import selectors
import subprocess
import threading
import time
from collections import Counter

import pytest
from confluent_kafka import Consumer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from harness import raw
from harness.admin import new_topic
from harness.broker import Broker, free_port, start
from harness.clients import JAVA, produce
from harness.proxy import Proxy
from harness.wait import until

FETCH = 1
LARGE = 2_000_000


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A broker whose clients go through a proxy that counts their requests."""
    proxy, port = Proxy(), free_port()
    settings = {"advertised.listeners": f"PLAINTEXT://{proxy.bootstrap}", "log.retention.check.interval.ms": "200", "log.initial.task.delay.ms": "100"}
    broker = Broker(tmp_path_factory.mktemp("counted"), port, settings).start()
    broker.proxy = proxy.before(port)
    yield broker
    broker.kill()
    proxy.stop()


class Through:
    """The way clients take to a counted broker."""

    def __init__(self, broker):
        self.bootstrap = broker.proxy.bootstrap


@pytest.fixture(scope="module")
def large(counted):
    """Ten partitions that each begin with a record of 2 MB."""
    topic = new_topic(counted, "large", partitions=10, max_message_bytes=5242880)
    with raw.Connection(counted) as c:
        for partition in range(10):
            assert raw.produce(c, topic, partition, [(None, os.urandom(LARGE))])["ErrorCode"] == 0
            assert raw.produce(c, topic, partition, [(None, b"small")])["ErrorCode"] == 0
    return topic


def test_the_first_batch_comes_whole_and_the_rest_obeys_what_is_left(counted, large):
    with raw.Connection(counted) as c:
        answer = raw.fetched(raw.fetch(c, large, {p: 0 for p in range(10)}, max_bytes=1024, partition_bytes=1024))
    sizes = {p: len(part["Records"] or b"") for p, part in answer.items()}
    assert sizes.pop(0) > LARGE and set(sizes.values()) <= {0}, sizes


def test_in_a_session_every_partition_gets_its_turn(counted, large):
    offsets, seen, fetches = {p: 0 for p in range(10)}, [], 1
    with raw.Connection(counted) as c:
        limits = {"max_bytes": 1024, "partition_bytes": 1024, "wait": 50}
        answer = raw.fetch(c, large, offsets, session=(0, 0), **limits)
        session = answer["SessionId"]
        assert session != 0
        while sum(offsets.values()) < 20 and fetches < 40:
            moved = {}
            for partition, part in raw.fetched(answer).items():
                for batch in raw.batches(part["Records"]):
                    seen.append(partition)
                    moved[partition] = offsets[partition] = batch.next
            answer = raw.fetch(c, large, moved, session=(session, fetches), **limits)
            assert answer["ErrorCode"] == 0
            fetches += 1
    # The fetch that opens the session moves nobody to the end, so the first partition is served twice, as by Kafka.
    assert set(seen[:11]) == set(range(10)), f"somebody waits while others are served twice: {seen}"
    assert len(seen) == 20 and fetches <= 22, (fetches, seen)


def java_drains(bootstrap, topic, name):
    extra = f"client.id={name},fetch.max.bytes=1024,max.partition.fetch.bytes=1024"
    done = subprocess.run(JAVA + ["dohle.Field", "drain", bootstrap, topic, extra], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    return [tuple(pair) for pair in json.loads(done.stdout)]


def librdkafka_drains(bootstrap, topic, name):
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "client.id": name, "group.id": "unused", "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "message.max.bytes": 1000, "fetch.max.bytes": 1024, "fetch.message.max.bytes": 1024})
    consumer.assign([TopicPartition(topic, p, 0) for p in range(10)])
    seen, limit = [], time.monotonic() + 60
    while len(seen) < 20 and time.monotonic() < limit:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            seen.append((message.partition(), len(message.value())))
    consumer.close()
    return seen


def kafka_python_drains(bootstrap, topic, name):
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, client_id=name, enable_auto_commit=False, auto_offset_reset="earliest",
        fetch_max_bytes=1024, max_partition_fetch_bytes=1024)
    consumer.assign([PythonPartition(topic, p) for p in range(10)])
    seen, limit = [], time.monotonic() + 60
    while len(seen) < 20 and time.monotonic() < limit:
        for records in consumer.poll(timeout_ms=1000).values():
            seen += [(r.partition, len(r.value)) for r in records]
    consumer.close()
    return seen


@pytest.mark.parametrize("drain", [java_drains, librdkafka_drains, kafka_python_drains])
def test_clients_with_tiny_limits_read_large_batches_without_spinning(counted, large, drain):
    name = f"tiny-{drain.__name__}"
    seen = drain(counted.proxy.bootstrap, large, name)
    assert Counter(seen) == Counter([(p, LARGE) for p in range(10)] + [(p, 5) for p in range(10)])
    # One batch an answer, and a few fetches around them.
    assert counted.proxy.count(name, FETCH) <= 60, counted.proxy.requests


def test_a_long_poll_ends_with_the_write_or_with_its_time_and_honours_min_bytes(broker):
    topic = new_topic(broker, "quiet", partitions=10)
    everywhere = {p: 0 for p in range(10)}
    with raw.Connection(broker) as c, raw.Connection(broker) as writer:
        began = time.monotonic()
        raw.fetch(c, topic, everywhere, wait=500)
        assert 0.5 <= time.monotonic() - began < 5, "an empty fetch takes its time"
        waits = []
        for number in range(5):
            c.send("Fetch", 12, raw.fetch_request(topic, {**everywhere, 3: number}, wait=20_000))
            time.sleep(0.05)  # the fetch has to wait before the write comes
            raw.produce(writer, topic, 3, [(None, b"x")])
            began = time.monotonic()
            answer = raw.fetched(c.receive("Fetch", 12))
            waits.append(time.monotonic() - began)
            assert [b.base for b in raw.batches(answer[3]["Records"])] == [number]
        print(f"woken {min(waits) * 1000:.1f} to {max(waits) * 1000:.1f} ms after the produce answer")
        assert max(waits) < 5, waits
        began = time.monotonic()
        c.send("Fetch", 12, raw.fetch_request(topic, {5: 0}, wait=2_000, min_bytes=1_000_000))
        raw.produce(writer, topic, 5, [(None, b"few")])
        answer = raw.fetched(c.receive("Fetch", 12))
        assert time.monotonic() - began > 1.9, "one small record is not enough"
        assert raw.batches(answer[5]["Records"]), "but it comes when the time is up"
        c.send("Fetch", 12, raw.fetch_request(topic, {6: 0}, wait=30_000, min_bytes=1_000_000))
        began = time.monotonic()
        for _ in range(3):
            raw.produce(writer, topic, 6, [(None, os.urandom(500_000))])
        answer = raw.fetched(c.receive("Fetch", 12))
        assert time.monotonic() - began < 15, "enough bytes end the wait"
        assert sum(len(b.body) for b in raw.batches(answer[6]["Records"])) >= 1_000_000


def test_clients_on_quiet_partitions_fetch_twice_a_second_and_wake_with_the_record(counted):
    topic = new_topic(counted, "idle", partitions=10)
    at = counted.proxy.bootstrap
    late, stop = {}, threading.Event()
    java = subprocess.Popen(JAVA + ["dohle.Field", "idle", at, topic, "client.id=idle-java"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def python():
        consumer = KafkaConsumer(bootstrap_servers=at, client_id="idle-python", auto_offset_reset="earliest", enable_auto_commit=False)
        consumer.assign([PythonPartition(topic, p) for p in range(10)])
        while not stop.is_set():
            for records in consumer.poll(timeout_ms=1000).values():
                late["python"] = time.time() * 1000 - records[0].timestamp
        consumer.close()

    def librdkafka():
        consumer = Consumer({"bootstrap.servers": at, "client.id": "idle-librdkafka", "group.id": "unused", "auto.offset.reset": "earliest", "enable.auto.commit": False})
        consumer.assign([TopicPartition(topic, p, 0) for p in range(10)])
        while not stop.is_set():
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                late["librdkafka"] = time.time() * 1000 - message.timestamp()[1]
        consumer.close()

    threads = [threading.Thread(target=one) for one in (python, librdkafka)]
    try:
        for thread in threads:
            thread.start()
        names = ["idle-java", "idle-python", "idle-librdkafka"]
        until(lambda: all(counted.proxy.count(name, FETCH) >= 2 for name in names), "all poll")
        began, before = time.monotonic(), {name: counted.proxy.count(name, FETCH) for name in names}
        time.sleep(5)  # what is measured is how often they ask in this time
        fetches = {name: counted.proxy.count(name, FETCH) - before[name] for name in names}
        took = time.monotonic() - began
        assert all(0.6 <= count / took <= 2.6 for count in fetches.values()), f"in {took:.1f} seconds: {fetches}"
        produce("librdkafka", counted, topic, "none", [[None, "wake"]])
        until(lambda: len(late) == 2 and java.poll() is not None, "all have the record")
        late["java"] = int(java.stdout.read().split()[1])
        print(f"fetches in {took:.1f} seconds: {fetches}; late by ms: {late}")
        assert all(delay < 5_000 for delay in late.values()), late
    finally:
        stop.set()
        java.kill()
        for thread in threads:
            thread.join(20)


def cpu_seconds(broker):
    fields = open(f"/proc/{broker.process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_thousand_idle_consumers_cost_next_to_nothing(broker):
    topic = new_topic(broker, "crowd", partitions=10)
    request = raw.request("Fetch", 12, raw.fetch_request(topic, {p: 0 for p in range(10)}, wait=500))
    selector = selectors.DefaultSelector()
    connections = [raw.Connection(broker) for _ in range(1000)]
    answers = 0

    def turn():
        """Each answer is followed by the next fetch, as consumers do."""
        count = 0
        for key, _ in selector.select(1):
            key.fileobj.recv(1 << 16)
            key.fileobj.sendall(request)
            count += 1
        return count

    try:
        for c in connections:
            selector.register(c.socket, selectors.EVENT_READ)
            c.socket.sendall(request)
        while answers < 2000:
            answers += turn()
        began, cpu, answers = time.monotonic(), cpu_seconds(broker), 0
        while time.monotonic() - began < 4:
            answers += turn()
        took, used = time.monotonic() - began, cpu_seconds(broker) - cpu
        print(f"{answers / took:.0f} empty fetches a second, {100 * used / took:.1f} % of a core, {broker.rss_mib():.0f} MiB")
        # At the beginning each may have an answer that nobody has read yet.
        assert answers <= len(connections) * (took / 0.5 + 1), "nobody is answered before his time"
        assert os.environ.get("COMPAT_BROKER") == "kafka" or used / took < 0.4, f"{used:.2f} s of CPU in {took:.1f} s"
    finally:
        for c in connections:
            c.socket.close()


def java_times(broker, topic, *times):
    done = subprocess.run(JAVA + ["dohle.Field", "times", broker.bootstrap, topic, ",".join(map(str, times))], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_a_time_after_the_last_record_has_no_offset_and_no_error(counted):
    now = int(time.time() * 1000)
    later, day_ago = now + 3_600_000, now - 86_400_000
    filled = new_topic(counted, "filled")
    empty = new_topic(counted, "empty")
    expired = new_topic(counted, "expired", retention_ms=3_600_000)
    with raw.Connection(counted) as c:
        for topic, at in ((filled, now), (expired, day_ago)):
            for number in range(3):
                assert raw.produce(c, topic, 0, [(b"k", b"v")], times=[at + number])["ErrorCode"] == 0
        until(lambda: raw.list_offset(c, expired, 0, -2)[2] == 3, "all records of the topic are expired")
        for topic, first, end in ((filled, 0, 3), (empty, 0, 0), (expired, 3, 3)):
            for isolation in (0, 1):
                assert raw.list_offset(c, topic, 0, later, isolation=isolation) == (0, -1, -1), topic
                assert raw.list_offset(c, topic, 0, -2, isolation=isolation)[::2] == (0, first), topic
                assert raw.list_offset(c, topic, 0, -1, isolation=isolation)[::2] == (0, end), topic
        assert raw.list_offset(c, filled, 0, now + 1) == (0, now + 1, 1)
        assert raw.list_offset(c, expired, 0, day_ago) == (0, -1, -1), "what is gone is not found by its time"
        assert raw.list_offset(c, filled, 0, -3) == (0, now + 2, 2)
        assert raw.list_offset(c, empty, 0, -3) == (0, -1, -1)
        for topic, first, end in ((filled, 0, 3), (empty, 0, 0), (expired, 3, 3)):
            for found in java_times(counted, topic, later).values():
                assert found == {str(later): None, "beginning": first, "end": end}, topic
        for found in java_times(counted, filled, now + 1).values():
            assert found[str(now + 1)] == [1, now + 1]
    consumer = Consumer({"bootstrap.servers": counted.bootstrap, "group.id": "unused"})
    for topic, end in ((filled, 3), (empty, 0), (expired, 3)):
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, later)], timeout=20)
        assert found.error is None and found.offset == -1, (topic, found)
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)[1] == end
    consumer.close()
