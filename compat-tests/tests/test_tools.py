"""Apache Kafka's own command-line programs against the broker."""

import re

from harness.admin import new_topic
from harness.broker import start
from harness.clients import produce
from harness.tools import tool
from harness.wait import until


def test_client_compatibility_test(folder):
    broker = start(folder)
    try:
        topic = new_topic(broker, "compat")
        text = tool(
            "client-compat", "--bootstrap-server", broker.bootstrap, "--topic", topic,
            "--offsets-for-times-supported", "true", "--cluster-id-supported", "true",
            "--expect-record-too-large-exception", "false", "--num-cluster-nodes", "1",
            "--create-topics-supported", "true", "--describe-acls-supported", "true",
            "--describe-configs-supported", "true", "--idempotent-producer-supported", "true",
            check=False)
        assert "All tests passed" in text or "SUCCESS" in text.upper(), text
    finally:
        broker.stop()


def test_topics_are_created_described_altered_and_deleted(broker):
    at = ("--bootstrap-server", broker.bootstrap)
    name = new_topic(broker, "seed") + "-tool"
    assert f"Created topic {name}." in tool("topics", *at, "--create", "--topic", name, "--partitions", 3, "--config", "retention.ms=3600000")
    text = tool("topics", *at, "--describe", "--topic", name)
    assert "PartitionCount: 3" in text and "retention.ms=3600000" in text and text.count("Leader: 1") == 3, text
    tool("topics", *at, "--alter", "--topic", name, "--partitions", 5)
    assert "PartitionCount: 5" in tool("topics", *at, "--describe", "--topic", name)
    assert "already exists" in tool("topics", *at, "--create", "--topic", name, check=False)
    assert name in tool("topics", *at, "--list").split()
    tool("topics", *at, "--delete", "--topic", name)
    assert name not in tool("topics", *at, "--list").split()


def test_configs_are_described_and_altered(broker):
    at = ("--bootstrap-server", broker.bootstrap, "--entity-type", "topics", "--entity-name")
    name = new_topic(broker, "configs")
    tool("configs", *at, name, "--alter", "--add-config", "retention.ms=1234567,cleanup.policy=[compact,delete]")
    text = tool("configs", *at, name, "--describe")
    assert "retention.ms=1234567" in text and "cleanup.policy=compact,delete" in text, text
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=1234567" in text, text
    tool("configs", *at, name, "--alter", "--delete-config", "retention.ms")
    assert "retention.ms" not in tool("configs", *at, name, "--describe")
    every = tool("configs", *at, name, "--describe", "--all")
    assert "retention.ms=604800000" in every and "max.message.bytes=1048588" in every, every
    refused = tool("configs", *at, name, "--alter", "--add-config", "retention.ms=many", check=False)
    assert "Invalid value many for configuration retention.ms" in refused, refused
    brokers = tool("configs", "--bootstrap-server", broker.bootstrap, "--entity-type", "brokers", "--entity-name", 1, "--describe", "--all")
    assert "num.partitions=1" in brokers and "log.retention.hours=168" in brokers, brokers


def test_console_producer_and_consumer_groups_and_offsets(broker):
    at = ("--bootstrap-server", broker.bootstrap)
    topic = new_topic(broker, "console", partitions=2)
    group = topic
    words = [f"word {i}" for i in range(50)]
    tool("console-producer", *at, "--topic", topic, stdin="\n".join(words) + "\n")
    text = tool("console-consumer", *at, "--topic", topic, "--from-beginning", "--max-messages", 50, "--group", group)
    assert sorted(line for line in text.splitlines() if line.startswith("word")) == sorted(words), text
    offsets = dict(re.findall(rf"{topic}:(\d):(\d+)", tool("get-offsets", *at, "--topic", topic)))
    assert sum(map(int, offsets.values())) == 50, offsets
    assert group in tool("consumer-groups", *at, "--list").split()
    until(lambda: "Empty" in tool("consumer-groups", *at, "--describe", "--group", group, "--state"), "the group is empty")
    text = tool("consumer-groups", *at, "--describe", "--group", group)
    lags = [line.split()[5] for line in text.splitlines() if line.startswith(group)]
    assert lags == ["0", "0"], text
    text = tool("consumer-groups", *at, "--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
    assert len([line for line in text.splitlines() if topic in line and line.rstrip().endswith("0")]) == 2, text
    text = tool("console-consumer", *at, "--topic", topic, "--max-messages", 50, "--group", group)
    assert len([line for line in text.splitlines() if line.startswith("word")]) == 50, "the reset group reads all again"
    until(lambda: "Empty" in tool("consumer-groups", *at, "--describe", "--group", group, "--state"), "the group is empty")
    assert "successful" in tool("consumer-groups", *at, "--group", group, "--delete")
    assert group not in tool("consumer-groups", *at, "--list").split()


def test_perf_tools_delete_records_and_log_dirs(broker, folder):
    at = ("--bootstrap-server", broker.bootstrap)
    topic = new_topic(broker, "perf")
    text = tool("producer-perf", "--topic", topic, "--num-records", 20000, "--record-size", 200, "--throughput", -1, *at)
    assert "20000 records sent" in text, text
    text = tool("consumer-perf", *at, "--topic", topic, "--num-records", 20000)
    assert "20000" in text, text
    (folder / "delete.json").write_text(f'{{"partitions":[{{"topic":"{topic}","partition":0,"offset":15000}}],"version":1}}')
    assert "low_watermark: 15000" in tool("delete-records", *at, "--offset-json-file", folder / "delete.json")
    assert f"{topic}:0:15000" in tool("get-offsets", *at, "--topic", topic, "--time", -2)
    text = tool("log-dirs", *at, "--describe", "--topic-list", topic)
    assert re.search(r'"size":[1-9]', text), text


def test_the_offered_apis_are_ones_that_kafka_knows(broker):
    text = tool("broker-api-versions", "--bootstrap-server", broker.bootstrap)
    assert "Produce(0): 0 to 13" in text and "Fetch(1): 4 to 18" in text, text


def test_idempotent_java_producer_and_a_read_of_its_records(broker):
    topic = new_topic(broker, "idempotent")
    produce("java", broker, topic, "zstd", [[None, f"row {i}"] for i in range(1000)], "enable.idempotence=true,batch.size=200")
    assert f"{topic}:0:1000" in tool("get-offsets", "--bootstrap-server", broker.bootstrap, "--topic", topic)
