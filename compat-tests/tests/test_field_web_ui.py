"""Field report F15: the calls that web interfaces and exporters make at start (kafbat kafka-ui, AKHQ, Kafdrop, Redpanda
Console, kminion, kafka_exporter).

Each answer is read strictly by its schema at the lowest and highest version that is offered: a null where the schema
has none, or a byte too many, fails. Client quotas, SCRAM credentials and the state of a quorum of several nodes come
with later issues; until then these requests are not offered, which clients report as such. The same calls through
Kafka's own tools are in `test_tools.py`.
"""

import os

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, TopicPartition
from confluent_kafka.admin import ConfigResource, OffsetSpec, ResourceType
from kafka import KafkaAdminClient

from harness import raw
from harness.admin import admin, new_topic
from harness.broker import start
from harness.clients import Member, produce
from harness.wait import until

ON_KAFKA = os.environ.get("COMPAT_BROKER") == "kafka"
SEGMENT = 1_048_576
SECURITY_DISABLED = 54


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A broker with something to show: records, groups, settings, an idempotent producer."""
    broker = start(tmp_path_factory.mktemp("ui"), log_segment_bytes=str(SEGMENT))
    broker.topic = new_topic(broker, "shown", partitions=3, retention_ms=3_600_000)
    produce("librdkafka", broker, broker.topic, "none", [[f"k{i}", "x" * 1000] for i in range(5000)])
    produce("librdkafka", broker, broker.topic, "none", [["k", "v"]], "enable.idempotence=true")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "past", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(broker.topic, p, 7) for p in range(3)], asynchronous=False)
    consumer.close()
    broker.member = Member("librdkafka", broker, broker.topic, "present")
    until(lambda: broker.member.assigned == [0, 1, 2], "a group is active")
    yield broker
    broker.member.kill()
    broker.kill()


def both(connection, api, values):
    """The answers of the lowest and the highest version that both sides know."""
    latest = connection.latest(api)
    offered = connection.call("ApiVersions", 0, b"")["ApiKeys"]
    lowest = next(k["MinVersion"] for k in offered if k["ApiKey"] == raw.REQUESTS[api]["apiKey"])
    assert latest >= lowest >= 0, f"{api} is not offered"
    for version in sorted({lowest, latest}):
        fields = {f["name"] for f in raw.REQUESTS[api]["fields"] if raw._holds(f["versions"], version)}
        asked = {k: v for k, v in values.items() if k in fields}
        if (api, version) == ("Metadata", 0):
            asked["Topics"] = []  # in version 0 that means all
        yield version, connection.call(api, version, asked)


@pytest.fixture
def c(busy):
    with raw.Connection(busy) as connection:
        yield connection


def test_the_cluster_and_its_topics_with_authorised_operations(busy, c):
    for version, answer in both(c, "DescribeCluster", {"IncludeClusterAuthorizedOperations": True}):
        assert answer["ErrorCode"] == 0 and len(answer["ClusterId"]) == 22 and answer["ControllerId"] == 1
        assert [(b["BrokerId"], b["Host"], b["Port"]) for b in answer["Brokers"]] == [(1, "127.0.0.1", busy.port)]
        assert answer["ClusterAuthorizedOperations"] > 0, "there is no authorizer, so everything is allowed"
    for version, answer in both(c, "Metadata", {"Topics": None, "IncludeTopicAuthorizedOperations": True, "IncludeClusterAuthorizedOperations": True}):
        topics = {t["Name"]: t for t in answer["Topics"]}
        if version > 0:
            assert {busy.topic, "__consumer_offsets"} <= set(topics), topics.keys()
            assert topics["__consumer_offsets"]["IsInternal"] and not topics[busy.topic]["IsInternal"]
        if version >= 8:
            assert topics[busy.topic]["TopicAuthorizedOperations"] > 0
    for _, answer in both(c, "DescribeTopicPartitions", {"Topics": [{"Name": busy.topic}]}):
        assert [p["PartitionIndex"] for p in answer["Topics"][0]["Partitions"]] == [0, 1, 2]


def test_settings_of_broker_and_topic_with_their_synonyms(busy, c):
    resources = [{"ResourceType": 4, "ResourceName": "1", "ConfigurationKeys": None}, {"ResourceType": 2, "ResourceName": busy.topic, "ConfigurationKeys": None}]
    for version, answer in both(c, "DescribeConfigs", {"Resources": resources, "IncludeSynonyms": True, "IncludeDocumentation": True}):
        broker, topic = answer["Results"]
        assert broker["ErrorCode"] == topic["ErrorCode"] == 0
        of_broker = {e["Name"]: e for e in broker["Configs"]}
        of_topic = {e["Name"]: e for e in topic["Configs"]}
        assert of_broker["log.segment.bytes"]["Value"] == str(SEGMENT) and len(of_broker) > 100
        assert of_topic["retention.ms"]["Value"] == "3600000" and of_topic["retention.ms"]["ConfigSource"] == 1
        assert of_topic["segment.bytes"]["Value"] == str(SEGMENT) and of_topic["segment.bytes"]["ConfigSource"] == 4
        synonyms = lambda name: [(s["Name"], s["Source"]) for s in of_topic[name]["Synonyms"]]
        assert synonyms("retention.ms") == [("retention.ms", 1)]
        assert synonyms("segment.bytes") == [("log.segment.bytes", 4), ("log.segment.bytes", 5)]
        if version >= 3:
            assert of_topic["retention.ms"]["Documentation"]


def test_sizes_in_log_directories_agree_with_the_disk(busy, c):
    for version, answer in both(c, "DescribeLogDirs", {"Topics": None}):
        (directory,) = answer["Results"]
        assert directory["ErrorCode"] == 0
        sizes = {(t["Name"], p["PartitionIndex"]): p["PartitionSize"] for t in directory["Topics"] for p in t["Partitions"]}
        assert sum(size for (name, _), size in sizes.items() if name == busy.topic) > 4_900_000
        for (name, partition), size in sizes.items():
            folder = busy.data / f"{name}-{partition}"
            on_disk = sum(f.stat().st_blocks * 512 for f in folder.glob("*.log"))
            assert abs(size - on_disk) <= SEGMENT, f"{folder.name}: {size} told, {on_disk} on disk"
        if version >= 4:
            assert directory["TotalBytes"] > directory["UsableBytes"] > 0
        assert all(p["OffsetLag"] == 0 and not p["IsFutureKey"] for t in directory["Topics"] for p in t["Partitions"])


def test_groups_their_members_and_offsets(busy, c):
    for version, answer in both(c, "ListGroups", {}):
        groups = {g["GroupId"]: g for g in answer["Groups"]}
        assert {"past", "present"} <= set(groups)
        if version >= 4:
            assert (groups["past"]["GroupState"], groups["present"]["GroupState"]) == ("Empty", "Stable")
    for version, answer in both(c, "DescribeGroups", {"Groups": ["past", "present", "absent"], "IncludeAuthorizedOperations": True}):
        past, present, absent = ({g["GroupId"]: g for g in answer["Groups"]}[name] for name in ("past", "present", "absent"))
        assert (past["GroupState"], present["GroupState"], absent["GroupState"]) == ("Empty", "Stable", "Dead")
        (member,) = present["Members"]
        assert member["ClientHost"] == "/127.0.0.1" and member["MemberAssignment"] and present["ProtocolType"] == "consumer"
    latest = c.latest("OffsetFetch")
    for group, offsets in (("past", {0: 7, 1: 7, 2: 7}), ("absent", {})):
        answer = c.call("OffsetFetch", 8, {"Groups": [{"GroupId": group, "Topics": None}]})["Groups"][0]
        assert answer["ErrorCode"] == 0
        assert {p["PartitionIndex"]: p["CommittedOffset"] for t in answer["Topics"] for p in t["Partitions"]} == offsets
        answer = c.call("OffsetFetch", latest, {"Groups": [{"GroupId": group, "Topics": None, "MemberEpoch": -1}]})["Groups"][0]
        assert answer["ErrorCode"] == 0


def test_offsets_producers_and_reassignments(busy, c):
    ends = [raw.list_offset(c, busy.topic, p, -1) for p in range(3)]
    assert sum(end[2] for end in ends) == 5001 and all(raw.list_offset(c, busy.topic, p, -2) == (0, -1, 0) for p in range(3))
    for _, answer in both(c, "DescribeProducers", {"Topics": [{"Name": busy.topic, "PartitionIndexes": [0, 1, 2]}]}):
        producers = [p["ActiveProducers"] for t in answer["Topics"] for p in t["Partitions"]]
        (active,) = [one for some in producers for one in some]
        assert active["ProducerId"] >= 0 and active["LastSequence"] == 0 and active["CurrentTxnStartOffset"] == -1
    for _, answer in both(c, "ListPartitionReassignments", {"Topics": None, "TimeoutMs": 5000}):
        assert answer["ErrorCode"] == 0 and answer["Topics"] == []


def test_what_is_not_enabled_says_so(busy, c):
    every = {"ResourceTypeFilter": 1, "ResourceNameFilter": None, "PatternTypeFilter": 1, "PrincipalFilter": None, "HostFilter": None, "Operation": 1, "PermissionType": 1}
    for _, answer in both(c, "DescribeAcls", every):
        assert answer["ErrorCode"] == SECURITY_DISABLED and answer["ErrorMessage"] and answer["Resources"] == []
    if ON_KAFKA:
        return
    offered = {k["ApiKey"] for k in c.call("ApiVersions", 0, b"")["ApiKeys"]}
    for api in ("DescribeClientQuotas", "DescribeQuorum", "DescribeUserScramCredentials", "ListTransactions"):
        key = raw.REQUESTS[api]["apiKey"]
        if key in offered:
            continue
        with raw.Connection(busy, timeout=10) as stranger:
            stranger.socket.sendall(raw.request(api, 0, b"\0\0\0\0"))
            assert stranger.socket.recv(1) == b"", f"{api} is not offered and not answered"


def test_the_same_through_the_admin_clients(busy):
    client = admin(busy)
    cluster = client.describe_cluster(include_authorized_operations=True).result(30)
    assert cluster.controller.id == 1 and len(cluster.nodes) == 1 and cluster.authorized_operations
    listed = client.list_consumer_groups().result(30)
    states = {g.group_id: g.state for g in listed.valid}
    assert not listed.errors and states["past"] == ConsumerGroupState.EMPTY and states["present"] == ConsumerGroupState.STABLE
    described = client.describe_consumer_groups(["present"])["present"].result(30)
    assert sorted(p.partition for p in described.members[0].assignment.topic_partitions) == [0, 1, 2]
    resource = ConfigResource(ResourceType.BROKER, "1")
    assert client.describe_configs([resource])[resource].result(30)["log.segment.bytes"].value == str(SEGMENT)
    spec = {TopicPartition(busy.topic, p): OffsetSpec.latest() for p in range(3)}
    assert sum(f.result(30).offset for f in client.list_offsets(spec).values()) == 5001
    python = KafkaAdminClient(bootstrap_servers=busy.bootstrap)
    assert busy.topic in python.list_topics()
    groups = {g[0] if isinstance(g, tuple) else g["group_id"] for g in python.list_groups()}
    assert {"past", "present"} <= groups
    python.close()
