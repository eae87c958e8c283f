"""Apache Kafka's tools for settings, quotas, features, the quorum, leaders, moves, log levels and client metrics."""

import contextlib
import json
import re
import threading
import time

import pytest
from confluent_kafka import Producer

from harness.admin import new_topic
from harness.broker import free_port, start
from harness.metrics import figures
from harness.tools import short_tool as tool
from harness.wait import until


def at(broker):
    return ("--bootstrap-server", broker.bootstrap)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A broker with an admin port and two log directories."""
    folder, port = tmp_path_factory.mktemp("measured"), free_port()
    broker = start(folder, dohle_admin_listeners=f"127.0.0.1:{port}", log_dirs=f"{folder}/one,{folder}/two")
    broker.admin_port = port
    yield broker
    assert broker.alive(), broker.log_tail()
    broker.stop()


@pytest.mark.parametrize("kind, name, key, value, source, bad, refusal", [
    ("topics", None, "retention.ms", "86400001", "DYNAMIC_TOPIC_CONFIG", "-2", "Value must be at least -1"),
    ("brokers", "1", "log.cleaner.threads", "2", "DYNAMIC_BROKER_CONFIG", "x", "Not a number of type INT"),
    ("brokers", "", "message.max.bytes", "2000000", "DYNAMIC_DEFAULT_BROKER_CONFIG", "-1", "Value must be at least 0"),
    ("groups", "mine", "consumer.session.timeout.ms", "50000", "DYNAMIC_GROUP_CONFIG", "1",
     "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."),
    ("client-metrics", "slow", "interval.ms", "5000", "DYNAMIC_CLIENT_METRICS_CONFIG", "1",
     "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)"),
])
def test_settings_of_every_resource_are_set_shown_refused_and_taken_away(broker, kind, name, key, value, source, bad, refusal):
    name = new_topic(broker, "configured") if name is None else name
    whom = ("--entity-name", name) if name else ("--entity-default",)
    entity = (*at(broker), "--entity-type", kind, *whom)
    tool("configs", *entity, "--alter", "--add-config", f"{key}={value}")
    shown = tool("configs", *entity, "--describe")
    assert re.search(rf"^  {key}={value} sensitive=false synonyms=\{{{source}:{key}={value}", shown, re.M), shown
    refused = tool("configs", *entity, "--alter", "--add-config", f"{key}={bad}", check=False)
    assert refusal in refused, refused
    if kind != "brokers":  # A broker keeps what it does not know.
        unknown = tool("configs", *entity, "--alter", "--add-config", "no.such.setting=1", check=False)
        assert "Unknown" in unknown and "no.such.setting" in unknown, unknown
    tool("configs", *entity, "--alter", "--delete-config", key)
    assert f"{key}={value}" not in tool("configs", *entity, "--describe")


def test_quotas_are_set_shown_and_taken_away(broker):
    entity = ("--entity-type", "users", "--entity-name", "somebody", "--entity-type", "clients", "--entity-default")
    tool("configs", *at(broker), *entity, "--alter", "--add-config", "producer_byte_rate=1024,request_percentage=12.5")
    text = tool("configs", *at(broker), *entity, "--describe")
    assert "producer_byte_rate=1024.0" in text and "request_percentage=12.5" in text, text
    refused = tool("configs", *at(broker), *entity, "--alter", "--add-config", "producer_byte_rate=0", check=False)
    assert "must be greater than 0" in refused, refused
    tool("configs", *at(broker), *entity, "--alter", "--delete-config", "producer_byte_rate,request_percentage")
    assert "producer_byte_rate" not in tool("configs", *at(broker), *entity, "--describe")
    ip = ("--entity-type", "ips", "--entity-name", "127.0.0.9")
    tool("configs", *at(broker), *ip, "--alter", "--add-config", "connection_creation_rate=10")
    assert "connection_creation_rate=10.0" in tool("configs", *at(broker), *ip, "--describe")
    tool("configs", *at(broker), *ip, "--alter", "--delete-config", "connection_creation_rate")


@pytest.mark.parametrize("side, key", [("produce", "producer_byte_rate"), ("fetch", "consumer_byte_rate")])
def test_a_client_keeps_to_its_rate_is_told_why_and_is_measured(measured, side, key):
    topic, mine = new_topic(measured, f"rate-{side}"), f"limited-{side}"
    rate, size, count = 400_000, 1000, 5500
    entity = ("--entity-type", "clients", "--entity-name", mine)
    tool("configs", *at(measured), *entity, "--alter", "--add-config", f"{key}={rate}")
    load = ("producer-perf", "--topic", topic, "--num-records", count, "--record-size", size, "--throughput", -1,
            "--print-metrics", "--producer-props", f"bootstrap.servers={measured.bootstrap}")
    began = time.monotonic()
    if side == "produce":
        text = tool(*load, f"client.id={mine}")
        told = re.search(r"produce-throttle-time-max:\S+\s*:\s*([0-9.]+)", text)
        assert told and float(told[1]) > 100, text
    else:
        tool(*load)
        began = time.monotonic()
        tool("console-consumer", *at(measured), "--topic", topic, "--from-beginning", "--max-messages", count,
             "--consumer-property", f"client.id={mine}")
    took = time.monotonic() - began
    # Ten seconds' worth may come at once; what is beyond comes at the rate.
    least = (count * size - 10 * rate) / rate
    assert took >= least * 0.8, f"{took} s for what takes {least} s at least"
    seen = figures(measured.admin_port)
    rate_seen = seen.value(f"kafka_server_{side}_byte_rate", user="", client_id=mine)
    pause_seen = seen.value(f"kafka_server_{side}_throttle_time", user="", client_id=mine)
    assert rate_seen > 0 and pause_seen > 100, (rate_seen, pause_seen)
    tool("configs", *at(measured), *entity, "--alter", "--delete-config", key)
    assert f'client_id="{mine}"' not in figures(measured.admin_port).text, "nobody is measured without a limit"


def test_features_are_described_and_go_down_and_up(folder):
    broker = start(folder)
    try:
        text = tool("features", *at(broker), "describe")
        for feature, highest in [("metadata.version", "4.4-IV2"), ("transaction.version", "2"), ("group.version", "1"),
                                 ("share.version", "2"), ("streams.version", "1"), ("eligible.leader.replicas.version", "1")]:
            assert re.search(rf"Feature: {re.escape(feature)}\s.*FinalizedVersionLevel: {re.escape(highest)}\s", text), text
        one = "--feature", "transaction.version=1"
        assert "can be downgraded to 1" in tool("features", *at(broker), "downgrade", *one, "--dry-run")
        assert "was downgraded to 1" in tool("features", *at(broker), "downgrade", *one)
        assert "was upgraded to 2" in tool("features", *at(broker), "upgrade", "--feature", "transaction.version=2")
        refused = tool("features", *at(broker), "upgrade", "--feature", "transaction.version=9", check=False)
        assert "Local controller 1 only supports versions 0-2" in refused, refused
        refused = tool("features", *at(broker), "downgrade", "--metadata", "4.4-IV0", check=False)
        assert "might delete metadata information" in refused, refused
        assert "was disabled" in tool("features", *at(broker), "disable", "--feature", "group.version")
        broker.restart()
        assert re.search(r"Feature: group.version\s.*FinalizedVersionLevel: 0\s", tool("features", *at(broker), "describe"))
    finally:
        broker.stop()


def test_the_quorum_and_the_cluster_are_described(broker):
    status = tool("metadata-quorum", *at(broker), "describe", "--status")
    assert "LeaderId:               1" in status and "MaxFollowerLag:         0" in status, status
    replication = tool("metadata-quorum", *at(broker), "describe", "--replication", "--human-readable")
    assert re.search(r"^1\s+\S+\s+\d+\s+0\s.*\sLeader\s*$", replication, re.M), replication
    assert re.search(r"Cluster ID: \S{22}\s", tool("cluster", "cluster-id", *at(broker)))
    nodes = tool("cluster", "list-endpoints", *at(broker))
    assert re.search(rf"^1\s+127\.0\.0\.1\s+{broker.port}\s+null\s+unfenced\s+broker\s*$", nodes, re.M), nodes
    gone = tool("cluster", "unregister", *at(broker), "--id", 99, check=False)
    assert "99 is not currently registered" in gone, gone
    itself = tool("cluster", "unregister", *at(broker), "--id", 1, check=False)
    assert "no longer registered" not in itself, itself


def test_leaders_are_elected(broker, folder):
    topic = new_topic(broker, "leaders", partitions=2)
    one = ("--topic", topic, "--partition", 0)
    assert "Valid replica already elected" in tool("leader-election", *at(broker), "--election-type", "preferred", *one)
    plan = folder / "plan.json"
    plan.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 1}]}))
    by_file = tool("leader-election", *at(broker), "--election-type", "unclean", "--path-to-json-file", plan)
    assert f"Valid replica already elected for partitions {topic}-1" in by_file, by_file
    tool("leader-election", *at(broker), "--election-type", "preferred", "--all-topic-partitions")
    missing = tool("leader-election", *at(broker), "--election-type", "unclean", "--topic", "nowhere", "--partition", 0, check=False)
    assert "No such topic as nowhere" in missing, missing


@contextlib.contextmanager
def writing(broker, topic):
    """Writes for as long as the body runs; what became of each record stands in the list."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "retries": 0, "acks": "all", "linger.ms": 0})
    outcomes, stop = [], threading.Event()

    def run():
        while not stop.wait(0.0005):
            producer.produce(topic, b"beside", partition=0, on_delivery=lambda error, _: outcomes.append(error))
            producer.poll(0)
        producer.flush(60)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield outcomes
    finally:
        stop.set()
        thread.join(90)


def test_a_partition_moves_between_log_directories_while_it_is_written(measured, folder):
    topic = new_topic(measured, "moving")
    directories = [str(measured.folder / name) for name in ("one", "two")]

    def place():
        text = tool("log-dirs", *at(measured), "--describe", "--topic-list", topic)
        found = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
        assert sorted(one["logDir"] for one in found["brokers"][0]["logDirs"]) == directories, text
        logs = [(one["logDir"], part["isFuture"]) for one in found["brokers"][0]["logDirs"] for part in one["partitions"]]
        current = [directory for directory, future in logs if not future]
        assert len(current) == 1, logs
        return current[0]

    load = ("producer-perf", "--topic", topic, "--num-records", 20000, "--record-size", 1000, "--throughput", -1,
            "--producer-props", f"bootstrap.servers={measured.bootstrap}")
    tool(*load)
    assert "No partition reassignments found" in tool("reassign-partitions", *at(measured), "--list")
    before = place()
    other = next(directory for directory in directories if directory != before)
    plan = folder / "plan.json"
    part = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [other]}
    plan.write_text(json.dumps({"version": 1, "partitions": [part]}))
    moving = ("reassign-partitions", *at(measured), "--reassignment-json-file", plan)
    with writing(measured, topic) as written:
        text = tool(*moving, "--execute", "--replica-alter-log-dirs-throttle", 100_000_000)
        assert f"Successfully started moving log directory to {other}" in text, text
        tool(*load)
        until(lambda: place() == other, "the log is in the other directory")
    assert written and set(written) == {None}, "a producer that does not try again notices nothing"
    text = tool(*moving, "--verify")
    assert "is currently in progress" not in text and "completed" in text, text
    limit = ("configs", *at(measured), "--entity-type", "brokers", "--entity-name", 1, "--describe")
    assert "throttled.rate" not in tool(*limit), "--verify takes the throttle away"
    assert f"{topic}:0:{40000 + len(written)}" in tool("get-offsets", *at(measured), "--topic", topic)
    part["log_dirs"] = ["/nowhere"]
    plan.write_text(json.dumps({"version": 1, "partitions": [part]}))
    refused = tool(*moving, "--execute", check=False)
    assert "LogDirNotFoundException" in refused or "log directory" in refused.lower(), refused
    part |= {"replicas": [2], "log_dirs": ["any"]}
    plan.write_text(json.dumps({"version": 1, "partitions": [part]}))
    refused = tool(*moving, "--execute", check=False)
    assert "Unknown broker id 2" in refused, refused
    generate = folder / "topics.json"
    generate.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    text = tool("reassign-partitions", *at(measured), "--generate", "--topics-to-move-json-file", generate, "--broker-list", 1)
    assert other in text, text
    measured.restart()
    assert place() == other
    assert f"{topic}:0:{40000 + len(written)}" in tool("get-offsets", *at(measured), "--topic", topic)


def test_a_cordoned_log_directory_gets_nothing_new(measured):
    one, two = (str(measured.folder / name) for name in ("one", "two"))
    entity = (*at(measured), "--entity-type", "brokers", "--entity-name", 1)
    refused = tool("configs", *entity, "--alter", "--add-config", "cordoned.log.dirs=/nowhere", check=False)
    assert "must be present in log.dirs" in refused, refused

    def cordoned():
        text = tool("log-dirs", *at(measured), "--describe")
        found = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
        return {one["logDir"]: [part["partition"] for part in one["partitions"]] for one in found["brokers"][0]["logDirs"]}

    tool("configs", *entity, "--alter", "--add-config", f"cordoned.log.dirs={one}")
    topic = new_topic(measured, "elsewhere", partitions=3)
    until(lambda: sum(part.startswith(topic) for part in cordoned()[two]) == 3, "all new partitions are in the other directory")
    plan = measured.folder / "cordoned.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [1], "log_dirs": [one]}]}))
    refused = tool("reassign-partitions", *at(measured), "--reassignment-json-file", plan, "--execute", check=False)
    assert "InvalidReplicaAssignmentException" in refused or "cordoned" in refused, refused
    tool("configs", *entity, "--alter", "--add-config", "cordoned.log.dirs=*")
    refused = tool("topics", *at(measured), "--create", "--topic", f"{topic}-none", check=False)
    assert "have all their log directories cordoned" in refused, refused
    tool("configs", *entity, "--alter", "--delete-config", "cordoned.log.dirs")
    assert "Created topic" in tool("topics", *at(measured), "--create", "--topic", f"{topic}-again")


def test_log_levels_change_while_the_broker_runs(broker):
    entity = ("--entity-type", "broker-loggers", "--entity-name", 1)
    assert "root=" in tool("configs", *at(broker), *entity, "--describe")
    tool("configs", *at(broker), *entity, "--alter", "--add-config", "dohle.broker=TRACE")
    text = tool("configs", *at(broker), *entity, "--describe")
    assert text.count("=TRACE") == 1 and "dohle.broker=TRACE" in text, text
    refused = tool("configs", *at(broker), *entity, "--alter", "--add-config", "nobody=INFO", check=False)
    assert "Invalid broker logger(s): nobody" in refused, refused
    tool("configs", *at(broker), *entity, "--alter", "--delete-config", "dohle.broker")
    assert "dohle.broker=TRACE" not in tool("configs", *at(broker), *entity, "--describe")


def test_client_metrics_are_subscribed_and_shown(measured):
    mine = ("--name", "producers")
    here = (*mine, "--metrics", "org.apache.kafka.producer.", "--interval", 500, "--match", "client_id=told.*")
    tool("client-metrics", *at(measured), "--alter", *here)
    text = tool("client-metrics", *at(measured), "--describe", *mine)
    assert "interval.ms=500" in text and "client_id=told.*" in text, text
    assert "producers" in tool("client-metrics", *at(measured), "--list").split()
    refused = tool("client-metrics", *at(measured), "--alter", *mine, "--match", "colour=red", check=False)
    assert "Illegal client matching pattern: colour=red" in refused, refused
    topic = new_topic(measured, "told")
    tool("producer-perf", "--topic", topic, "--num-records", 2000, "--record-size", 100, "--throughput", 1000,
         "--producer-props", f"bootstrap.servers={measured.bootstrap}", "client.id=told-1", "linger.ms=0")
    # What was pushed goes with the client, so it is counted rather than looked at.
    shown = figures(measured.admin_port)
    assert shown.value("dohle_client_pushes_total") >= 1, shown.text
    assert shown.value("dohle_client_pushes_refused_total") == 0, shown.text
    tool("client-metrics", *at(measured), "--delete", *mine)
    assert "producers" not in tool("client-metrics", *at(measured), "--list").split()
    made = tool("client-metrics", *at(measured), "--alter", "--generate-name", "--metrics", "*")
    name = re.search(r"config for (\S+)\.", made)[1]
    assert name in tool("client-metrics", *at(measured), "--list").split(), made
    tool("client-metrics", *at(measured), "--delete", "--name", name)
