"""Field reports F09 (a new topic used at once), F14 (replacing and changing settings) and F19 (dry runs and error codes
of CreateTopics).

Every code and sentence of the refusals is in `src/broker/tests/admin.rs`. Usable within a second on every node of a
cluster (part of F09) comes with clusters.
"""

import json
import os
import subprocess

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType
from kafka import KafkaProducer

from harness import raw
from harness.admin import admin, new_topic
from harness.broker import start
from harness.clients import COMMANDS
from harness.wait import until

ROUNDS = 200
EXISTS, INVALID_TOPIC, INVALID_FACTOR, INVALID_PARTITIONS, INVALID_REQUEST, INVALID_CONFIG = 36, 17, 38, 37, 42, 40


def use(first, second, name, partition):
    """Metadata, produce, offsets and fetch with not one error, on two connections in turn."""
    topic = first.call("Metadata", 9, {"Topics": [{"Name": name}]})["Topics"][0]
    assert topic["ErrorCode"] == 0 and all(p["ErrorCode"] == 0 and p["LeaderId"] == 1 for p in topic["Partitions"]), topic
    assert raw.produce(second, name, partition, [(b"k", b"v")])["ErrorCode"] == 0
    assert raw.list_offset(first, name, partition, -1) == (0, -1, 1)
    part = raw.fetched(raw.fetch(second, name, {partition: 0}, wait=0))[partition]
    assert part["ErrorCode"] == 0 and part["HighWatermark"] == 1 and len(raw.batches(part["Records"])) == 1, part


def create(connection, *topics, dry=False, version=7):
    """Codes and messages by name; a topic is a name or the fields of the request."""
    asked = [{"NumPartitions": 1, "ReplicationFactor": 1, **t} for t in topics]
    answer = connection.call("CreateTopics", version, {"Topics": asked, "timeoutMs": 10_000, "validateOnly": dry})
    return [(t["Name"], t["ErrorCode"], t["ErrorMessage"]) for t in answer["Topics"]]


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A broker for these tests, for they make thousands of partitions."""
    broker = start(tmp_path_factory.mktemp("topics"))
    yield broker
    broker.kill()


BETTER = pytest.mark.skipif(os.environ.get("COMPAT_BROKER") == "kafka", reason="better than Kafka, where a new topic is unknown for a moment")


@BETTER
@pytest.mark.parametrize("partitions", [1, 50])
def test_a_new_topic_works_at_once_on_every_connection(own, partitions):
    rounds = ROUNDS if partitions == 1 else ROUNDS // 20
    with raw.Connection(own) as one, raw.Connection(own) as other:
        for number in range(rounds):
            name = f"new-{partitions}-{number}"
            ((_, code, message),) = create(one, {"Name": name, "NumPartitions": partitions})
            assert code == 0, message
            first, second = ((one, one), (one, other), (other, one), (other, other))[number % 4]
            use(first, second, name, number % partitions)


@BETTER
def test_a_topic_created_by_asking_for_it_works_at_once(own):
    with raw.Connection(own) as one, raw.Connection(own) as other:
        for number in range(ROUNDS):
            name = f"asked-{number}"
            answer = one.call("Metadata", 9, {"Topics": [{"Name": name}], "AllowAutoTopicCreation": True})["Topics"][0]
            assert answer["ErrorCode"] == 0, "Kafka answers LEADER_NOT_AVAILABLE first"
            use(one, other, name, 0)


def test_clients_produce_to_topics_that_are_not_there_yet(own):
    producer = KafkaProducer(bootstrap_servers=own.bootstrap)
    for number in range(30):
        assert producer.send(f"python-{number}", b"v").get(timeout=30).offset == 0
    producer.close()
    failed = []
    producer = Producer({"bootstrap.servers": own.bootstrap, "linger.ms": 0})
    for number in range(30):
        producer.produce(f"librdkafka-{number}", value=b"v", on_delivery=lambda error, _: error and failed.append(error))
        assert producer.flush(30) == 0
    assert not failed
    for client in ("java", "kafkajs"):  # franz-go does not ask for topics to be made unless it is told to
        done = subprocess.run(COMMANDS[client] + ["produce", own.bootstrap, f"made-by-{client}", "none"], input='["k", "v"]\n', capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and json.loads(done.stdout) == {"acked": 1, "failed": 0}, (done.stdout, done.stderr)


BAD = [
    ({"Name": "a/b"}, INVALID_TOPIC),
    ({"Name": ".."}, INVALID_TOPIC),
    ({"Name": "x" * 250}, INVALID_TOPIC),
    ({"Name": ""}, INVALID_TOPIC),
    ({"Name": "factor", "ReplicationFactor": 3}, INVALID_FACTOR),
    ({"Name": "factor-0", "ReplicationFactor": 0}, INVALID_FACTOR),
    ({"Name": "none", "NumPartitions": 0}, INVALID_PARTITIONS),
    ({"Name": "negative", "NumPartitions": -2}, INVALID_PARTITIONS),
    ({"Name": "both", "NumPartitions": 2, "Assignments": [{"PartitionIndex": 0, "BrokerIds": [1]}]}, INVALID_REQUEST),
    ({"Name": "unknown-key", "Configs": [{"Name": "no.such.key", "Value": "1"}]}, INVALID_CONFIG),
    ({"Name": "bad-value", "Configs": [{"Name": "retention.ms", "Value": "soon"}]}, INVALID_CONFIG),
]


@pytest.mark.parametrize("dry", [True, False], ids=["dry run", "for real"])
def test_each_bad_topic_has_its_code_and_a_message_and_fails_alone(own, dry):
    existing, good = new_topic(own, "exists"), f"good-{dry}"
    bad = [*BAD, ({"Name": existing}, EXISTS)]
    with raw.Connection(own) as c:
        answers = create(c, *[fields for fields, _ in bad], {"Name": good}, dry=dry)
        told = {name: (code, message) for name, code, message in answers}
        for fields, code in bad:
            assert told[fields["Name"]][0] == code, (fields, told[fields["Name"]])
            assert told[fields["Name"]][1], f"no message for {fields}"
        assert told[good][0] == 0, told[good]
        twice = create(c, {"Name": "twice"}, {"Name": "twice"}, {"Name": good + "-beside"}, dry=dry)
        assert [code for name, code, _ in twice if name == "twice"] == [INVALID_REQUEST], twice
        assert [code for name, code, _ in twice if name != "twice"] == [0], twice
        # -1 partitions and factor -1 mean the defaults (KIP-464).
        assert create(c, {"Name": f"defaults-{dry}", "NumPartitions": -1, "ReplicationFactor": -1}, dry=dry)[0][1] == 0
        names = {t["Name"] for t in c.call("Metadata", 9, {"Topics": None})["Topics"]}
        made = {good, good + "-beside", f"defaults-{dry}"}
        assert made & names == (set() if dry else made), "a dry run makes nothing"
        assert not {fields["Name"] for fields, _ in BAD} & names and "twice" not in names


def test_partitions_cannot_become_fewer_and_librdkafka_says_why(own):
    topic = new_topic(own, "grow", partitions=3)
    client = admin(own)
    for count in (2, 3):
        with pytest.raises(KafkaException) as refused:
            client.create_partitions([NewPartitions(topic, count)])[topic].result(30)
        assert refused.value.args[0].code() == INVALID_PARTITIONS and refused.value.args[0].str()
    client.create_partitions([NewPartitions(topic, 5)], validate_only=True)[topic].result(30)
    assert len(client.list_topics(topic, timeout=20).topics[topic].partitions) == 3
    client.create_partitions([NewPartitions(topic, 5)])[topic].result(30)
    until(lambda: len(client.list_topics(topic, timeout=20).topics[topic].partitions) == 5, "there are five partitions")
    with pytest.raises(KafkaException) as refused:
        client.create_topics([NewTopic("..", 1, 1)], validate_only=True)[".."].result(30)
    assert refused.value.args[0].code() == INVALID_TOPIC


def described(broker, topic):
    """The topic's own settings, and where each other one comes from."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    client = admin(broker)
    entries = client.describe_configs([resource])[resource].result(30)
    own = {name: entry.value for name, entry in entries.items() if entry.source == 1}
    for name, value in own.items():
        synonyms = entries[name].synonyms.values()
        assert any(s.source == 1 and s.value == value for s in synonyms), f"{name} is not among its synonyms"
    # The topic's, the cluster's (Kafka keeps min.insync.replicas there), the file's and the default ones.
    assert all(entry.source in (1, 3, 4, 5) for entry in entries.values())
    return own


def change(broker, topic, *entries, **how):
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[
        ConfigEntry(name, value, incremental_operation=operation) for name, operation, value in entries])
    client = admin(broker)
    client.incremental_alter_configs([resource], **how)[resource].result(30)


def replace(broker, topic, **settings):
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={k.replace("_", "."): v for k, v in settings.items()})
    client = admin(broker)
    client.alter_configs([resource])[resource].result(30)


def test_replacing_settings_replaces_all_and_changing_them_touches_what_is_named(own):
    topic = new_topic(own, "settings", cleanup_policy="compact", retention_ms=7_200_000)
    kept = {"cleanup.policy": "compact", "retention.ms": "7200000"}
    assert described(own, topic) == kept
    SET, DELETE, APPEND, SUBTRACT = (getattr(AlterConfigOpType, o) for o in ("SET", "DELETE", "APPEND", "SUBTRACT"))
    change(own, topic, ("segment.bytes", SET, "2097152"))
    assert described(own, topic) == {**kept, "segment.bytes": "2097152"}
    change(own, topic, ("cleanup.policy", APPEND, "delete"), ("segment.bytes", DELETE, None))
    assert described(own, topic) == {**kept, "cleanup.policy": "compact,delete"}
    change(own, topic, ("cleanup.policy", SUBTRACT, "compact"))
    changed = {**kept, "cleanup.policy": "delete"}
    assert described(own, topic) == changed
    for entry, part in [
        (("no.such.key", SET, "1"), "no.such.key"),
        (("retention.ms", SET, "soon"), "soon"),
        (("cleanup.policy", SET, "burn"), "burn"),
        (("retention.ms", APPEND, "1"), "retention.ms"),
    ]:
        with pytest.raises(KafkaException) as refused:
            change(own, topic, ("max.message.bytes", SET, "1000"), entry)
        assert refused.value.args[0].code() == INVALID_CONFIG and part in refused.value.args[0].str(), refused.value
        assert described(own, topic) == changed, "nothing of a refused change is applied"
    change(own, topic, ("retention.ms", SET, "1"), validate_only=True)
    assert described(own, topic) == changed, "a dry run changes nothing"
    replace(own, topic, segment_bytes="3145728")
    assert described(own, topic) == {"segment.bytes": "3145728"}
    with pytest.raises(KafkaException) as refused:
        replace(own, topic, segment_bytes="x", retention_ms="5")
    assert refused.value.args[0].code() == INVALID_CONFIG
    assert described(own, topic) == {"segment.bytes": "3145728"}
    # A value equal to the default is the topic's own all the same, because a user set it.
    change(own, topic, ("retention.ms", SET, "604800000"))
    after = {"segment.bytes": "3145728", "retention.ms": "604800000"}
    assert described(own, topic) == after
    own.restart()
    assert described(own, topic) == after, "after a restart"
