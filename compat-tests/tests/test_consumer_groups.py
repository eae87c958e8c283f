"""Consumer groups of the newer protocol (KIP-848): members of several clients in one group join, leave and are killed.

What counts is read from the histories: the records that members got, and the group's own records in
`__consumer_offsets` as Kafka's dump tool decodes them, which tell who had which partition when.
"""

import json
import os
import random
import threading
from pathlib import Path

import pytest

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from harness.admin import new_topic
from harness.broker import start
from harness.clients import Member, produce
from harness.tools import tool
from harness.wait import until

FULL = bool(os.environ.get("COMPAT_FULL"))
MEMBERS, RECORDS, PARTITIONS = (50, 100_000, 60) if FULL else (6, 3_000, 12)
CLIENTS = ["librdkafka", "franz-go", "java"]
SETTINGS = {
    # A member that lives is not taken for dead while the machine is busy: what it has read would come twice.
    "group.consumer.min.session.timeout.ms": "15000",
    "group.consumer.session.timeout.ms": "15000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "1",
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A broker whose consumer groups notice deaths soon."""
    broker = start(tmp_path_factory.mktemp("consumer-groups"), **SETTINGS)
    yield broker
    broker.stop()


def committed(broker, topic, group):
    client = AdminClient({"bootstrap.servers": broker.bootstrap})
    request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(PARTITIONS)])]
    answer = client.list_consumer_group_offsets(request)[group].result(60)
    return sum(max(tp.offset, 0) for tp in answer.topic_partitions)


def settled(members):
    for m in members:
        m.check()
    return sorted(p for m in members for p in m.assigned or []) == list(range(PARTITIONS))


def facts(broker):
    """What the group's records say of members, in the order of the log: (group, member, value or None). The broker is
    stopped for it: a segment at work has room behind its last record."""
    broker.stop()
    found = []
    for segment in sorted(Path(broker.data, "__consumer_offsets-0").glob("*.log")):
        for line in tool("dump-log", "--offsets-decoder", "--files", segment).splitlines():
            key, _, payload = line.partition(" key: ")[2].partition(" payload: ")
            if not key.startswith('{"type":"8"'):
                continue
            data = json.loads(key)["data"]
            value = None if payload.strip() == "<DELETE>" else json.loads(payload)["data"]
            found.append((data["groupId"], data["memberId"], value))
    broker.start()
    return found


def check_owners(history, group):
    """No partition has two owners at any time, from the first record to the last; how many records say so."""
    owners, had = {}, {}
    seen = 0
    for of, member, value in history:
        if of != group:
            continue
        seen += 1
        for p in had.pop(member, []):
            owners.pop(p, None)
        parts = []
        for topic in (value or {}).get("assignedPartitions", []) + (value or {}).get("partitionsPendingRevocation", []):
            parts += [(topic["topicId"], p) for p in topic["partitions"]]
        for p in parts:
            assert p not in owners, f"{p} is {owners[p]}'s and is given to {member} at epoch {value['memberEpoch']}"
            owners[p] = member
        had[member] = parts
    assert seen > MEMBERS, f"only {seen} records of the group"
    return seen


def test_members_of_three_clients_come_and_go(quick):
    topic = new_topic(quick, "shared-848", partitions=PARTITIONS)
    group = "mixed-848"
    rows = [[f"key-{i}", f"value-{i}"] for i in range(RECORDS)]
    chunks = [rows[i::6] for i in range(6)]
    chance = random.Random(848)
    alive, gone, killed = [], [], []
    kinds = [CLIENTS[i % 3] if FULL and i % 5 == 0 or not FULL else CLIENTS[i % 2] for i in range(MEMBERS)]

    def come(count):
        for _ in range(count):
            alive.append(Member(kinds.pop(), quick, topic, group, "consumer"))

    def go(end):
        member = alive.pop(chance.randrange(len(alive)))
        (killed if end == "kill" else gone).append(member)
        member.kill() if end == "kill" else member.leave()

    try:
        come(MEMBERS // 3)
        sender = threading.Thread(target=lambda: [produce("franz-go", quick, topic, "none", chunk) for chunk in chunks])
        sender.start()
        until(lambda: any(m.records for m in alive), "records come", 120)
        while kinds:
            come(min(len(kinds), max(1, MEMBERS // 10)))
            until(lambda: all(m.assigned is not None for m in alive), "all have joined", 120)
            if len(alive) > 2:
                go(chance.choice(["leave", "kill"]))
        while len(killed) < 2 and len(alive) > 2:
            go("kill")
        sender.join(300)
        until(lambda: settled(alive), "those that are left share all partitions", 180)
        until(lambda: committed(quick, topic, group) == RECORDS, "all is committed", 180)
        for member in list(alive):
            alive.remove(member)
            gone.append(member)
            member.leave()
    finally:
        for member in alive + gone + killed:
            member.kill()

    readers = {}
    for member in gone + killed:
        for record in member.records:
            readers.setdefault(record, []).append(member)
    assert len(readers) == RECORDS, "every record was consumed"
    for record, who in readers.items():
        # One that lives commits what it has read before it gives a partition up.
        late = [m for m in who if m not in killed]
        assert len(late) <= 1, f"{record} came to {[m.client for m in late]}, none of them killed"
    owned = check_owners(facts(quick), group)
    twice = sum(len(who) > 1 for who in readers.values())
    print(f"{MEMBERS} members, {len(gone)} left, {len(killed)} were killed; {RECORDS} records, {twice} of them came twice; {owned} records of who owns what")


@pytest.mark.parametrize("first, second", [("eager", "consumer"), ("consumer", "eager")])
def test_a_group_changes_its_protocol_member_by_member(quick, first, second):
    topic = new_topic(quick, f"{first}-to-{second}", partitions=PARTITIONS)
    members = [Member("librdkafka", quick, topic, topic, first), Member("java", quick, topic, topic, first)]
    try:
        until(lambda: settled(members), "both have joined", 60)
        produce("franz-go", quick, topic, "none", [[None, str(i)] for i in range(200)])
        until(lambda: committed(quick, topic, topic) == 200, "the first part is committed", 60)
        for client in ["librdkafka", "java"]:
            members.append(Member(client, quick, topic, topic, second))
            until(lambda: settled(members), "both protocols work in one group", 90)
            members.pop(0).leave()
            until(lambda: settled(members), "the rest has shared", 90)
        produce("franz-go", quick, topic, "none", [[None, str(i)] for i in range(200)])
        until(lambda: committed(quick, topic, topic) == 400, "the second part is committed", 60)
    finally:
        for member in members:
            member.kill()
