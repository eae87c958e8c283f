"""The admin port: figures that are true, pages that say where the broker stands, and a dashboard and alert rules whose
every question a real Prometheus answers from a loaded broker."""

import contextlib
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from harness.admin import admin, new_topic
from harness.broker import Broker, free_port
from harness.metrics import Prometheus, figures, get
from harness.wait import until

pytestmark = pytest.mark.skipif(os.environ.get("COMPAT_BROKER") == "kafka", reason="asks for pages of ours")

ROOT = Path(__file__).resolve().parents[2]
TOPICS = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_requests_total"
# What Strimzi's boards of Kafka and KRaft and its alert rules ask for, as far as it has a meaning on one node.
STRIMZI = """
kafka_server_replicamanager_leadercount kafka_server_replicamanager_partitioncount
kafka_server_replicamanager_underreplicatedpartitions kafka_server_replicamanager_underminisrpartitioncount
kafka_controller_kafkacontroller_activecontrollercount kafka_controller_kafkacontroller_offlinepartitionscount
kafka_controller_controllerstats_uncleanleaderelections_total kafka_cluster_partition_atminisr
kafka_cluster_partition_underminisr kafka_server_brokertopicmetrics_bytesin_total
kafka_server_brokertopicmetrics_bytesout_total kafka_server_brokertopicmetrics_messagesin_total
kafka_server_brokertopicmetrics_totalproducerequests_total kafka_server_brokertopicmetrics_totalfetchrequests_total
kafka_server_brokertopicmetrics_failedproducerequests_total kafka_server_brokertopicmetrics_failedfetchrequests_total
kafka_network_socketserver_networkprocessoravgidle_percent kafka_log_log_size process_open_fds
kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent kafka_log_logmanager_offlinelogdirectorycount
kafka_server_kafkaserver_linux_disk_write_bytes kafka_server_kafkaserver_linux_disk_read_bytes
kafka_server_socket_server_metrics_connection_count kafka_server_raftmetrics_current_leader
kafka_server_raftmetrics_current_epoch kafka_server_raftmetrics_high_watermark
""".split()


def start(folder, **settings):
    admin_port = free_port()
    settings["dohle.admin.listeners"] = f"127.0.0.1:{admin_port}"
    broker = Broker(folder / "broker", free_port(), settings).start()
    broker.admin_port = admin_port
    return broker


@pytest.fixture
def watched(folder):
    broker = start(folder)
    yield broker
    broker.kill()


def produce(broker, topic, count, partition=0):
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    for number in range(count):
        producer.produce(topic, value=f"row {number}".encode(), partition=partition)
    assert producer.flush(30) == 0


def consume(broker, topic, count, group):
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                         "enable.auto.commit": False})
    consumer.subscribe([topic])
    seen = 0
    while seen < count:
        message = consumer.poll(30)
        assert message is not None and message.error() is None, message and message.error()
        seen += 1
    return consumer


def test_what_topics_take_in_and_give_out_is_counted_to_the_byte(watched):
    topic, other = new_topic(watched, "counted", partitions=2), new_topic(watched, "other")
    before = figures(watched.admin_port)
    produce(watched, topic, 300, partition=0)
    produce(watched, topic, 100, partition=1)
    produce(watched, other, 7)
    now = figures(watched.admin_port)
    assert now.value(TOPICS + "messagesin_total", topic=topic) == 400
    assert now.value(TOPICS + "messagesin_total", topic=other) == 7
    assert now.value(TOPICS + "messagesin_total") - before.value(TOPICS + "messagesin_total") == 407
    assert [now.value("kafka_log_log_logendoffset", topic=topic, partition=p) for p in "01"] == [300, 100]
    assert now.sum("kafka_log_log_logstartoffset", topic=topic) == 0
    size = now.sum("kafka_log_log_size", topic=topic)
    assert size > 400 * 7 and now.value(TOPICS + "bytesin_total", topic=topic) == size
    requests = now.sum(REQUESTS, request="Produce") - before.sum(REQUESTS, request="Produce")
    batches = now.value(TOPICS + "totalproducerequests_total", topic=topic) + now.value(
        TOPICS + "totalproducerequests_total", topic=other)
    assert 1 <= requests <= batches <= 407
    assert now.value(TOPICS + "bytesout_total", topic=topic) == 0
    consumer = consume(watched, topic, 400, "readers")
    now = figures(watched.admin_port)
    assert now.value(TOPICS + "bytesout_total", topic=topic) >= size
    assert now.value(TOPICS + "bytesout_total", topic=other) == 0
    assert now.value(TOPICS + "totalfetchrequests_total", topic=topic) >= 2
    consumer.close()
    total = now.value(TOPICS + "messagesin_total")
    client = admin(watched)
    client.delete_topics([topic])[topic].result(30)
    gone = until(lambda: (seen := figures(watched.admin_port)).value(TOPICS + "messagesin_total", topic=topic) is None
                 and seen, "the topic's figures go with it")
    assert gone.value(TOPICS + "messagesin_total") >= total, "the sum does not go back"


def test_requests_and_connections_are_counted_one_by_one(watched):
    probe = b"\0\3\0\4" + struct.pack(">ih", 1, 5) + b"probe" + struct.pack(">i?", 0, False)
    frame = struct.pack(">i", len(probe)) + probe
    names = {
        "requests": (REQUESTS, {"request": "Metadata"}),
        "times": ("kafka_network_requestmetrics_totaltimems_count", {"request": "Metadata"}),
        "sizes": ("kafka_network_requestmetrics_requestbytes_sum", {"request": "Metadata"}),
        "received": ("kafka_server_socket_server_metrics_incoming_byte_total", {"listener": "PLAINTEXT"}),
        "sent": ("kafka_server_socket_server_metrics_outgoing_byte_total", {"listener": "PLAINTEXT"}),
        "accepted": ("kafka_server_socket_server_metrics_connection_creation_total", {"listener": "PLAINTEXT"}),
        "open": ("kafka_server_socket_server_metrics_connection_count", {"listener": "PLAINTEXT"}),
        "invalid": ("dohle_net_connections_invalid_total", {"listener": "PLAINTEXT"}),
    }

    def look():
        now = figures(watched.admin_port)
        return {key: now.value(name, **labels) for key, (name, labels) in names.items()}

    until(lambda: look()["open"] == 0, "the harness's own probe has ended")
    before = look()
    sent = 0
    with socket.create_connection(("127.0.0.1", watched.port), timeout=10) as s:
        for _ in range(7):
            s.sendall(frame)
            length = struct.unpack(">i", s.recv(4, socket.MSG_WAITALL))[0]
            s.recv(length, socket.MSG_WAITALL)
            sent += 4 + length
        # Bytes are counted when the whole answer is out, which may be after it has come.
        until(lambda: look()["sent"] - before["sent"] == sent, "the bytes of the answers are counted")
        during = look()
    change = {key: during[key] - before[key] for key in names}
    assert change == {"requests": 7, "times": 7, "sizes": 7 * len(probe), "received": 7 * len(frame), "sent": sent,
                      "accepted": 1, "open": 1, "invalid": 0}
    with socket.create_connection(("127.0.0.1", watched.port), timeout=10) as s:
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        until(lambda: look()["invalid"] - before["invalid"] == 1, "what is not a request is counted")
    until(lambda: look()["open"] == 0, "connections that end are not counted as open")


def test_groups_are_counted_by_their_state(watched):
    topic = new_topic(watched, "grouped")
    produce(watched, topic, 10)
    name = "kafka_coordinator_group_groupmetadatamanager_"

    def states():
        now = figures(watched.admin_port)
        return [now.value(name + kind) for kind in ("numgroups", "numgroupsstable", "numgroupsempty", "numoffsets")]

    first, second = consume(watched, topic, 10, "one"), consume(watched, topic, 10, "two")
    first.commit(asynchronous=False)
    assert states() == [2, 2, 0, 1]
    second.close()
    assert states() == [2, 1, 1, 1]
    first.close()
    assert states() == [2, 0, 2, 1]


def test_the_names_that_existing_boards_ask_for_are_there(watched):
    topic = new_topic(watched, "boards")
    produce(watched, topic, 1)
    now = figures(watched.admin_port)
    assert set(STRIMZI) - now.names() == set()
    assert now.value("kafka_server_kafkaserver_brokerstate") == 3
    assert now.value("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert now.value("kafka_cluster_partition_atminisr", topic=topic, partition="0") == 1
    assert 0 <= now.value("kafka_network_socketserver_networkprocessoravgidle_percent") <= 1
    resident = now.value("process_resident_memory_bytes") / 2**20
    assert abs(resident - watched.rss_mib()) < 8
    threads = len(list(Path(f"/proc/{watched.process.pid}/task").iterdir()))
    assert abs(now.value("process_threads") - threads) <= 2
    assert now.value("dohle_log_directory_free_bytes", logDirectory=str(watched.data)) > 0


def test_topics_and_partitions_beyond_the_limit_have_no_name(folder):
    broker = start(folder, **{"dohle.metrics.partitions.max": "2"})
    try:
        topics = [new_topic(broker, f"many-{number}") for number in range(4)]
        for topic in topics:
            produce(broker, topic, 5)
        now = figures(broker.admin_port)
        named = {dict(labels)["topic"] for name, labels in now.samples if name == "kafka_log_log_size"}
        assert named == set(topics[:2])
        assert now.value("dohle_metrics_partitions_left_out") == 2
        assert now.value(TOPICS + "messagesin_total") == 20
        assert now.value("kafka_server_replicamanager_partitioncount") == 4
    finally:
        broker.kill()


def test_pages_say_where_the_broker_stands(watched):
    assert get(watched.admin_port, "/ready") == (200, "ready\n")
    assert get(watched.admin_port, "/live") == (200, "live\n")
    topic = new_topic(watched, "drained").encode()
    # A fetch that waits for more than there is holds up the end for a moment.
    fetch = struct.pack(">hhihiiiibih", 1, 4, 1, -1, -1, 20_000, 1, 1 << 20, 0, 1, len(topic)) + topic
    fetch += struct.pack(">iiqi", 1, 0, 0, 1 << 20)
    with socket.create_connection(("127.0.0.1", watched.port), timeout=10) as s:
        s.sendall(struct.pack(">i", len(fetch)) + fetch)
        until(lambda: figures(watched.admin_port).sum("kafka_server_socket_server_metrics_request_total") > 0, "taken")
        watched.process.terminate()
        seen = []
        with contextlib.suppress(OSError, http.client.HTTPException):
            while watched.alive():
                seen.append((get(watched.admin_port, "/ready"), get(watched.admin_port, "/live")))
        assert ((503, "draining: the broker stops\n"), (200, "live\n")) in seen, seen[-3:]
    assert watched.process.wait(30) == 0


def test_a_port_that_was_set_must_be_free(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        broker = Broker(folder, free_port(), {"dohle.admin.listeners": f"127.0.0.1:{port}"})
        done = subprocess.run(broker.command(), capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert f"dohle.admin.listeners cannot listen on 127.0.0.1:{port}" in done.stderr


def expressions(node):
    """Every `expr` and every variable's question in a dashboard."""
    if isinstance(node, dict):
        if isinstance(node.get("expr"), str):
            yield node["expr"]
        for value in node.values():
            yield from expressions(value)
    elif isinstance(node, list):
        for value in node:
            yield from expressions(value)


def substituted(expression, broker):
    values = {"$instance": f"127.0.0.1:{broker.admin_port}", "$topic": ".*", "$__rate_interval": "10s"}
    for name, value in values.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, f"nothing stands for a variable in {expression}"
    return expression


def load(broker, topic, stop):
    """Writes and reads until it is told to stop."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "load", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    number = 0
    while not stop.is_set():
        for _ in range(20):
            producer.produce(topic, value=b"x" * 200, key=str(number % 7).encode())
            number += 1
        producer.flush(10)
        consumer.poll(0.05)
    consumer.close()


def test_prometheus_answers_every_question_of_the_dashboard_and_the_alert_rules(watched, folder):
    topic = new_topic(watched, "load", partitions=3)
    stop = threading.Event()
    worker = threading.Thread(target=load, args=(watched, topic, stop))
    worker.start()
    prometheus = Prometheus(folder, watched.admin_port, ROOT / "grafana" / "alerts.yml")
    try:
        prometheus.start()
        dashboard = json.loads((ROOT / "grafana" / "overview.json").read_text())
        asked = list(expressions(dashboard))
        assert len(asked) > 50
        for expression in asked:
            question = substituted(expression, watched)
            until(lambda: prometheus.query(question), f"data for {question}", seconds=30)
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                series = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"])
                assert prometheus.query(f"count by ({series[2]}) ({series[1]})"), variable["name"]
        with pytest.raises(AssertionError, match="never came true"):
            until(lambda: prometheus.query("sum(kafka_no_such_measurement)"), "nothing", seconds=0.2)

        def evaluated():
            groups = prometheus.api("rules")["data"]["groups"]
            found = [rule for group in groups for rule in group["rules"]]
            return found if all(rule["health"] != "unknown" for rule in found) else None

        rules = until(evaluated, "the rules were evaluated")
        assert len(rules) > 10
        for rule in rules:
            assert rule["health"] == "ok", rule
            # What an alert looks at is there; whether the broker is well is not what this asks, except for one.
            looked_at = re.fullmatch(r"(.*) (?:==|!=|<|>) [\d.]+", rule["query"])[1]
            until(lambda: prometheus.query(looked_at), f"data for {looked_at}", seconds=30)
        assert prometheus.query('ALERTS{alertname!~"DohleDiskFilling|DohleBusy"}') == []
        busy = prometheus.query("sum(rate(kafka_network_requestmetrics_requests_total[10s]))")[0]
        assert busy > 1, "the broker was loaded while it was asked"
    finally:
        stop.set()
        worker.join(30)
        prometheus.stop()
