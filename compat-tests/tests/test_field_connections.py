"""Field reports F06 (idle connections), F07 (other protocols' bytes) and F08 (version negotiation).

How a connection with a request in flight outlives the limit is tested in `src/net/tests/ending.rs`. Frames that no
client sends, 600 of them at once, are in `test_hostile.py` and `tests/protocol/hostile.rs`; each offered version of
each request, and the one above the last, in `tests/protocol/conformance.rs`. Bytes before and after authentication come
with authentication.
"""

import os
import socket
import subprocess
import threading
import time

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from harness import raw
from harness.admin import new_topic
from harness.broker import start
from harness.clients import JAVA, PYTHON, dump, produce
from harness.wait import until

ON_KAFKA = os.environ.get("COMPAT_BROKER") == "kafka"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """A broker that closes connections after two idle seconds and says what it does."""
    os.environ["DOHLE_LOG"] = "debug"
    broker = start(tmp_path_factory.mktemp("hasty"), connections_max_idle_ms="2000")
    del os.environ["DOHLE_LOG"]
    yield broker
    broker.kill()


def ends_cleanly(s):
    """Whether the peer closes with an end and not with a reset, and without half an answer."""
    s.settimeout(20)
    try:
        return s.recv(1) == b""
    except ConnectionResetError:
        return False


def test_an_idle_connection_is_closed_cleanly_and_one_that_waits_is_not(hasty):
    topic = new_topic(hasty, "idle")
    with raw.Connection(hasty) as idle, raw.Connection(hasty) as fresh, raw.Connection(hasty) as waiting:
        began = time.monotonic()
        assert raw.produce(idle, topic, 0, [(b"k", b"v")])["ErrorCode"] == 0
        waiting.send("Fetch", 12, raw.fetch_request(topic, {0: 1}, wait=6_000))
        assert ends_cleanly(idle.socket)
        assert 1.9 < time.monotonic() - began < 15, "it is closed when the time is up, and not before"
        assert ends_cleanly(fresh.socket), "a connection that never asked is closed as well"
        if not ON_KAFKA:  # which counts a connection as idle though a request of it waits
            assert raw.fetched(waiting.receive("Fetch", 12))[0]["ErrorCode"] == 0
            assert time.monotonic() - began >= 6, "a long poll outlives the limit"
            assert ends_cleanly(waiting.socket), "and is idle after its answer"
    if not ON_KAFKA:
        lines = [line for line in hasty.log_text().splitlines() if "idle connection" in line]
        assert lines and all("DEBUG" in line for line in lines), lines[:3]
        assert " WARN " not in hasty.log_text() and " ERROR " not in hasty.log_text(), hasty.log_tail()


def test_producers_that_were_idle_send_on_without_an_error(hasty):
    topic = new_topic(hasty, "pause")
    java = subprocess.Popen(
        JAVA + ["dohle.Field", "send", hasty.bootstrap, topic, "none"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors, reports = [], []
    config = {"bootstrap.servers": hasty.bootstrap, "error_cb": errors.append, "log_level": 4}
    producer = Producer(config)

    def send(value):
        producer.produce(topic, value=value, on_delivery=lambda error, _: reports.append(error))
        assert producer.flush(30) == 0

    send("before")
    java.stdin.write('[0, "k", "before"]\nsleep 6000\n[0, "k", "after"]\n')
    java.stdin.flush()
    limit = time.monotonic() + 6
    while time.monotonic() < limit:  # a producer that is idle for three times the limit
        producer.poll(0.2)
    send("after")
    out, said = java.communicate(timeout=60)
    assert reports == [None, None] and out.count('"offset"') == 2, (reports, out, said)
    # With one broker librdkafka calls a closed connection "all brokers down", and goes on.
    assert {e.code() for e in errors} <= {-195, -187}, errors
    assert sorted(r[4] for r in dump("franz-go", hasty, topic)) == ["after", "after", "before", "before"]


def test_consumers_in_a_long_poll_are_not_disturbed(hasty):
    topic = new_topic(hasty, "poll")
    late = {}

    def python():
        consumer = KafkaConsumer(bootstrap_servers=hasty.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False, fetch_max_wait_ms=10_000)
        consumer.assign([PythonPartition(topic, 0)])
        while "python" not in late:
            for records in consumer.poll(timeout_ms=1000).values():
                late["python"] = records[0].value
        consumer.close()

    def librdkafka():
        consumer = Consumer({"bootstrap.servers": hasty.bootstrap, "group.id": "unused", "auto.offset.reset": "earliest", "enable.auto.commit": False, "fetch.wait.max.ms": 10_000})
        consumer.assign([TopicPartition(topic, 0, 0)])
        while "librdkafka" not in late:
            message = consumer.poll(1)
            if message is not None:
                assert message.error() is None, message.error()
                late["librdkafka"] = message.value()
        consumer.close()

    threads = [threading.Thread(target=one, daemon=True) for one in (python, librdkafka)]
    for thread in threads:
        thread.start()
    time.sleep(5)  # longer than a connection may be idle
    produce("franz-go", hasty, topic, "none", [[None, "at last"]])
    until(lambda: len(late) == 2, "both have the record", 30)
    assert set(late.values()) == {b"at last"}
    for thread in threads:
        thread.join(30)


@pytest.mark.parametrize("command", [
    ["curl", "-s", "-m", "10", "http://127.0.0.1:{port}/"],
    ["curl", "-s", "-m", "10", "-k", "https://127.0.0.1:{port}/"],
    ["openssl", "s_client", "-connect", "127.0.0.1:{port}"],
], ids=["http", "https", "openssl"])
def test_programs_of_other_protocols_are_turned_away_at_once(hasty, command):
    before = len(hasty.log_text())
    done = subprocess.run([part.format(port=hasty.port) for part in command], stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    assert done.returncode != 0
    if ON_KAFKA:
        return
    guess = "looks like HTTP" if command[-1].startswith("http:") else "looks like TLS"
    lines = until(lambda: [line for line in hasty.log_text()[before:].splitlines() if guess in line], f"a line that says {guess}")
    assert len(lines) == 1 and "127.0.0.1" in lines[0], lines
    assert "panicked" not in hasty.log_text() and "stack backtrace" not in hasty.log_text()


def test_two_hundred_strangers_at_once_disturb_no_client(broker):
    topic = new_topic(broker, "strangers")
    kinds = [b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("16030100f1010000ed0303") + b"\x55" * 200, b"\x7f\xff\xff\xff" + b"x" * 64, b"\xff\xff\xff\xff", bytes(4)]
    before = broker.rss_mib()
    sockets = []
    for number in range(200):
        s = socket.create_connection(("127.0.0.1", broker.port), timeout=10)
        s.sendall(kinds[number % len(kinds)])
        sockets.append(s)
    produce("kafka-python", broker, topic, "none", [[None, "v"]])
    for s in sockets:
        s.settimeout(10)
        try:
            assert s.recv(1) == b"", "a stranger gets no answer"
        except ConnectionResetError:
            pass
        s.close()
    assert ON_KAFKA or broker.rss_mib() < before + 32
    assert [r[4] for r in dump("kafka-python", broker, topic)] == ["v"]


def test_an_unknown_version_of_api_versions_is_answered_in_version_0_with_its_range(broker):
    with raw.Connection(broker) as c:
        for version in (99, 32767):
            newer = raw.request("ApiVersions", 3, {"ClientSoftwareName": "raw", "ClientSoftwareVersion": "1"})
            c.socket.sendall(newer[:6] + version.to_bytes(2, "big") + newer[8:])
            answer = c.receive("ApiVersions", 0)
            assert answer["ErrorCode"] == 35
            ranges = {k["ApiKey"]: (k["MinVersion"], k["MaxVersion"]) for k in answer["ApiKeys"]}
            assert ranges[18][0] == 0 and ranges[18][1] >= 4, ranges
        for version in range(5):
            body = {"ClientSoftwareName": "raw", "ClientSoftwareVersion": "1"} if version >= 3 else {}
            answer = c.call("ApiVersions", version, body)
            assert answer["ErrorCode"] == 0 and len(answer["ApiKeys"]) > 20


def test_kafka_python_finds_out_the_versions_by_itself_and_an_old_protocol_still_works(broker):
    topic = new_topic(broker, "versions")
    produce("kafka-python", broker, topic, "none", [[None, "new"]])
    # kafka-node and other old clients: message sets are gone since Kafka 4.0, so they are told, and not left hanging.
    with raw.Connection(broker, timeout=10) as c:
        answer = c.call("ApiVersions", 0, b"")
        offered = {k["ApiKey"]: (k["MinVersion"], k["MaxVersion"]) for k in answer["ApiKeys"]}
        assert offered[0][0] in (0, 3) and offered[1][0] == 4, offered
        c.socket.sendall(raw.request("Fetch", 0, bytes(16)))
        assert c.socket.recv(4096) == b"", "a version that is not offered closes the connection"


OLD = "2.6.0"


@pytest.fixture(scope="module")
def old_librdkafka():
    """librdkafka 2.6.0 beside the installed one: it sends Fetch 12 and above whatever is offered."""
    from harness.clients import WORK

    place = WORK / f"confluent-kafka-{OLD}"
    if not (place / "confluent_kafka").exists():
        subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place), f"confluent-kafka=={OLD}"], check=True, capture_output=True, timeout=300)
    return place


def test_librdkafka_2_6_0_writes_and_reads(broker, old_librdkafka):
    topic = new_topic(broker, "old")
    script = f"""
import confluent_kafka as k
assert k.libversion()[0] == "{OLD}", k.libversion()
p = k.Producer({{"bootstrap.servers": "{broker.bootstrap}", "compression.codec": "lz4"}})
for i in range(100): p.produce("{topic}", value=str(i))
assert p.flush(30) == 0
c = k.Consumer({{"bootstrap.servers": "{broker.bootstrap}", "group.id": "{topic}", "auto.offset.reset": "earliest"}})
c.subscribe(["{topic}"])
seen = []
while len(seen) < 100:
    m = c.poll(30)
    assert m is not None and m.error() is None, m and m.error()
    seen.append(m.value().decode())
c.close()
print(seen == [str(i) for i in range(100)])
"""
    done = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, timeout=90, env={**os.environ, "PYTHONPATH": str(old_librdkafka)})
    assert done.returncode == 0 and done.stdout.strip() == "True", done.stderr[-2000:]
