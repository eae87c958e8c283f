"""Field reports F12 (a stranger commits to an active group) and F13 (static members).

Every answer of the group requests is beside Kafka's in `tests/protocol/group_answers.rs`, the rules in
`src/groups/tests/`; a static member of each client that comes back is in `test_groups.py`, resetting the offsets of an
empty group with Kafka's tool in `test_tools.py`. Offsets within transactions are in `test_transactions.py`.
"""

import os
import subprocess
import threading
import time

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition
from kafka.errors import CommitFailedError, KafkaError
from kafka.structs import OffsetAndMetadata

from harness import raw
from harness.admin import admin, new_topic
from harness.broker import start
from harness.clients import JAVA
from harness.tools import tool
from harness.wait import until

UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID = 25, 22, 27, 82
PARTITIONS = 12
ON_KAFKA = os.environ.get("COMPAT_BROKER") == "kafka"


def java_commits(broker, topic, group, offset):
    done = subprocess.run(JAVA + ["dohle.Field", "commit", broker.bootstrap, topic, group, str(offset)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return {"done": 0, "CommitFailedException": UNKNOWN_MEMBER_ID}[done.stdout.split()[-1]]


def librdkafka_commits(broker, topic, group, offset):
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        return 0
    except KafkaException as refused:
        return refused.args[0].code()
    finally:
        consumer.close()


def kafka_python_commits(broker, topic, group, offset):
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=group, enable_auto_commit=False)
    try:
        consumer.assign([PythonPartition(topic, 0)])
        consumer.commit({PythonPartition(topic, 0): OffsetAndMetadata(offset, "", -1)})
        return 0
    except CommitFailedError:
        return UNKNOWN_MEMBER_ID
    except KafkaError as refused:
        return refused.errno
    finally:
        consumer.close(autocommit=False)


def admin_alters(broker, topic, group, offset):
    client = admin(broker)
    asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, offset)])]
    try:
        answer = client.alter_consumer_group_offsets(asked)[group].result(30)
        return max((tp.error.code() for tp in answer.topic_partitions if tp.error), default=0)
    except KafkaException as refused:
        return refused.args[0].code()


STRANGERS = [java_commits, librdkafka_commits, kafka_python_commits, admin_alters]


def committed(broker, topic, group):
    client = admin(broker)
    answer = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])])[group].result(30)
    return answer.topic_partitions[0].offset


class Static:
    """A static member of librdkafka that counts its assignments."""

    def __init__(self, broker, topic, group, instance, session=30_000, client="static"):
        self.assigned, self.assignments, self.errors = None, 0, []
        config = {
            "bootstrap.servers": broker.bootstrap, "group.id": group, "group.instance.id": instance, "client.id": client,
            "session.timeout.ms": session, "heartbeat.interval.ms": 300, "enable.auto.commit": False, "error_cb": self.errors.append,
        }
        self.consumer = Consumer(config)
        self.consumer.subscribe([topic], on_assign=self._assign, on_revoke=lambda *_: None)
        self.running = True
        self.thread = threading.Thread(target=self._poll, daemon=True)
        self.thread.start()

    def _assign(self, _consumer, partitions):
        self.assignments += 1
        self.assigned = sorted(p.partition for p in partitions)

    def _poll(self):
        while self.running:
            message = self.consumer.poll(0.1)
            if message is not None and message.error():
                self.errors.append(message.error())

    def close(self):
        """Goes without a word to the group, as static members do."""
        if self.running:
            self.running = False
            self.thread.join(10)
            self.consumer.close()


def describe(broker, group):
    """The group's state and its members by instance id (or member id)."""
    with raw.Connection(broker) as c:
        answer = c.call("DescribeGroups", 5, {"Groups": [group]})["Groups"][0]
    return answer["GroupState"], {m["GroupInstanceId"] or m["MemberId"]: m for m in answer["Members"]}


def generation(broker, group):
    """The group's generation: the one in which a member's heartbeat is taken."""
    _, members = describe(broker, group)
    member = next(iter(members.values()))
    with raw.Connection(broker) as c:
        for number in range(1, 100):
            beat = {"GroupId": group, "GenerationId": number, "MemberId": member["MemberId"], "GroupInstanceId": member["GroupInstanceId"]}
            if c.call("Heartbeat", 4, beat)["ErrorCode"] in (0, REBALANCE_IN_PROGRESS):
                return number
    raise AssertionError("no generation")


def settled(members):
    parts = [p for m in members for p in m.assigned or []]
    return all(m.assigned for m in members) and sorted(parts) == list(range(PARTITIONS))


def test_strangers_commit_to_empty_and_unknown_groups_and_never_to_active_ones(broker):
    topic = new_topic(broker, "strangers")
    group = topic
    for number, stranger in enumerate(STRANGERS):
        unknown = f"{group}-{stranger.__name__}"
        assert stranger(broker, topic, unknown, number) == 0, f"{stranger.__name__} to an unknown group"
        assert committed(broker, topic, unknown) == number
    member = Static(broker, topic, group, "only")
    try:
        until(lambda: member.assigned, "the member has its partition")
        for _ in range(2):
            for stranger in STRANGERS:
                assert stranger(broker, topic, group, 5) == UNKNOWN_MEMBER_ID, stranger.__name__
        assert committed(broker, topic, group) < 0, "nothing was stored"
        at = ("--bootstrap-server", broker.bootstrap, "--group", group, "--topic", topic)
        text = tool("consumer-groups", *at, "--reset-offsets", "--to-earliest", "--execute", check=False)
        assert "inactive" in text, text
        with raw.Connection(broker) as c:
            now = generation(broker, group)
            (who,) = describe(broker, group)[1].values()
            commit = {
                "GroupId": group, "GenerationIdOrMemberEpoch": now - 1, "MemberId": who["MemberId"], "GroupInstanceId": "only",
                "Topics": [{"Name": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 7, "CommittedLeaderEpoch": -1}]}],
            }
            code = lambda: c.call("OffsetCommit", 8, commit)["Topics"][0]["Partitions"][0]["ErrorCode"]
            assert code() == ILLEGAL_GENERATION, "a stale generation"
            commit["GenerationIdOrMemberEpoch"] = now
            assert code() == 0, "the member itself"
            commit["MemberId"] = "stranger"
            assert code() == FENCED_INSTANCE_ID, "another id of the same instance"
        member.close()
        with raw.Connection(broker) as c:
            leave = {"GroupId": group, "Members": [{"MemberId": "", "GroupInstanceId": "only"}]}
            assert c.call("LeaveGroup", 4, leave)["ErrorCode"] == 0
        assert describe(broker, group)[0] == "Empty"
        for number, stranger in enumerate(STRANGERS):
            assert stranger(broker, topic, group, 10 + number) == 0, f"{stranger.__name__} to an empty group"
            assert committed(broker, topic, group) == 10 + number
    finally:
        member.close()


@pytest.fixture
def own(folder):
    broker = start(folder, group_min_session_timeout_ms="1000")
    yield broker
    broker.kill()


def test_static_members_restart_twenty_times_and_nobody_notices(own):
    topic = new_topic(own, "static", partitions=PARTITIONS)
    members = {name: Static(own, topic, topic, name) for name in ("one", "two", "three")}
    try:
        until(lambda: settled(members.values()), "three static members share twelve partitions")
        before, others = generation(own, topic), {name: members[name].assignments for name in ("one", "three")}
        kept = members["two"].assigned
        for _ in range(20):
            members["two"].close()
            members["two"] = Static(own, topic, topic, "two")
            until(lambda: members["two"].assigned is not None, "it is back")
            assert members["two"].assigned == kept, "the same partitions"
        members["two"].close()
        members["two"] = Static(own, topic, topic, "two", session=45_000, client="renamed")
        until(lambda: members["two"].assigned == kept, "back with other properties")
        shown = lambda: describe(own, topic)[1]["two"]["ClientId"]
        # Kafka goes on showing the client id of the one before.
        assert ON_KAFKA or shown() == "renamed"
        assert generation(own, topic) == before, "no new generation"
        assert {name: members[name].assignments for name in others} == others, "nobody else saw anything"
        # The broker goes right after a member came back.
        members["two"].close()
        members["two"] = Static(own, topic, topic, "two", session=45_000, client="again")
        until(lambda: members["two"].assigned == kept, "back once more")
        own.kill()
        own.start()
        until(lambda: describe(own, topic)[0] == "Stable", "the group is loaded and stable")
        assert ON_KAFKA or shown() == "again", "the new properties outlive the broker"
        assert generation(own, topic) == before
        until(lambda: all(generation(own, topic) == before for _ in range(5)), "and stays as it is")
        assert settled(members.values())
    finally:
        for member in members.values():
            member.close()


def test_the_older_of_two_with_one_instance_id_is_fenced(own):
    topic = new_topic(own, "fenced", partitions=2)
    older = Static(own, topic, topic, "same")
    until(lambda: older.assigned, "the first has the partitions")
    newer = Static(own, topic, topic, "same")
    try:
        until(lambda: newer.assigned == [0, 1], "the second takes over")
        until(lambda: any("fenced by other consumer" in e.str() for e in older.errors), "the first is told")
    finally:
        older.close()
        newer.close()


def test_a_static_member_away_for_longer_than_its_session_is_replaced_by_the_others(own):
    topic = new_topic(own, "away", partitions=PARTITIONS)
    members = [Static(own, topic, topic, name, session=4_000) for name in ("one", "two", "three")]
    try:
        until(lambda: settled(members), "all three share")
        gone = members.pop()
        counts = [m.assignments for m in members]
        began = time.monotonic()
        gone.close()
        until(lambda: settled(members), "the other two have everything")
        assert time.monotonic() - began > 2.5, "not before the session has ended"
        assert all(m.assignments > count for m, count in zip(members, counts))
        members.append(Static(own, topic, topic, "three", session=4_000))
        until(lambda: settled(members), "three share again")
        assert all(len(m.assigned) == 4 for m in members), "nobody is left without"
    finally:
        for member in members:
            member.close()


def join(connection, group, instance, member=""):
    request = {
        "GroupId": group, "SessionTimeoutMs": 30_000, "RebalanceTimeoutMs": 30_000, "MemberId": member, "GroupInstanceId": instance,
        "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": b"\0\0\0\0\0\0\0\0\0\0"}],
    }
    connection.send("JoinGroup", 5, request)


def sync(connection, group, joined, instance, assignments=()):
    parts = [{"MemberId": m, "Assignment": a} for m, a in assignments]
    request = {"GroupId": group, "GenerationId": joined["GenerationId"], "MemberId": joined["MemberId"], "GroupInstanceId": instance, "Assignments": parts}
    connection.send("SyncGroup", 3, request)


def test_a_static_member_that_comes_back_between_join_and_sync_leaves_nobody_without_an_assignment(broker):
    group, names = f"{new_topic(broker, 'between')}", ["one", "two", "three"]
    with raw.Connection(broker) as finder:
        find = lambda: finder.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": [group]})["Coordinators"][0]["ErrorCode"]
        until(lambda: find() == 0, "there is a coordinator")
    connections = {name: raw.Connection(broker) for name in [*names, "back"]}
    try:
        for name in names:
            join(connections[name], group, name)
        joined = {name: connections[name].receive("JoinGroup", 5) for name in names}
        assert {j["ErrorCode"] for j in joined.values()} == {0}
        leader = next(name for name in names if joined[name]["Leader"] == joined[name]["MemberId"])
        away = next(name for name in names if name != leader)
        join(connections["back"], group, away)
        for name in names:
            if name == away:
                continue
            until(lambda: describe(broker, group)[0] == "PreparingRebalance", "the rebalance begins again")
            sync(connections[name], group, joined[name], name)
            assert connections[name].receive("SyncGroup", 3)["ErrorCode"] == REBALANCE_IN_PROGRESS
            join(connections[name], group, name, joined[name]["MemberId"])
        connections[away].socket.close()
        connections[away] = connections["back"]
        again = {name: connections[name].receive("JoinGroup", 5) for name in names}
        assert {j["ErrorCode"] for j in again.values()} == {0}
        assert {j["GenerationId"] for j in again.values()} == {joined[leader]["GenerationId"] + 1}
        assert again[away]["MemberId"] != joined[away]["MemberId"]
        for name in names:
            leads = again[name]["Leader"] == again[name]["MemberId"]
            parts = [(again[other]["MemberId"], f"part of {other}".encode()) for other in names] if leads else []
            sync(connections[name], group, again[name], name, parts)
        for name in names:
            answer = connections[name].receive("SyncGroup", 3)
            assert (answer["ErrorCode"], answer["Assignment"]) == (0, f"part of {name}".encode())
    finally:
        for c in connections.values():
            c.socket.close()
