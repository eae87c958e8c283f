"""Classic consumer groups of every client through joins, leaves and deaths of members."""

import pytest

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from harness.admin import admin, new_topic
from harness.clients import Member, produce
from harness.wait import until

PARTITIONS = 6
CASES = [
    ("java", "eager"),
    ("java", "cooperative"),
    ("librdkafka", "eager"),
    ("librdkafka", "cooperative"),
    ("kafka-python", "eager"),
    ("kafkajs", "eager"),
    ("franz-go", "eager"),
    ("franz-go", "cooperative"),
]


def rows(first, count):
    return [[f"key-{i}", f"value-{i}"] for i in range(first, first + count)]


def committed(broker, topic, group):
    request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(PARTITIONS)])]
    client = admin(broker)
    answer = client.list_consumer_group_offsets(request)[group].result(30)
    return sum(max(tp.offset, 0) for tp in answer.topic_partitions)


def settled(members):
    """Whether the members share all partitions without overlap."""
    for m in members:
        m.check()
    parts = [p for m in members for p in m.assigned or []]
    return all(m.assigned for m in members) and sorted(parts) == list(range(PARTITIONS))


@pytest.mark.parametrize("client,mode", CASES)
def test_members_join_leave_and_die_and_every_record_is_read(broker, client, mode):
    topic = new_topic(broker, f"group-{client}-{mode}", partitions=PARTITIONS)
    group = topic
    produce("librdkafka", broker, topic, "none", rows(0, 300))
    members = [Member(client, broker, topic, group, mode)]
    try:
        until(lambda: settled(members), "one member owns everything")
        members.append(Member(client, broker, topic, group, mode))
        until(lambda: settled(members), "two members share")
        until(lambda: committed(broker, topic, group) == 300, "all is committed")
        produce("librdkafka", broker, topic, "none", rows(300, 300))
        until(lambda: committed(broker, topic, group) == 600, "the second part is committed")
        left = members.pop(0)
        left.leave()
        until(lambda: settled(members), "the one left behind owns everything")
        members.append(Member(client, broker, topic, group, mode))
        until(lambda: settled(members), "two members share again")
        died = members.pop(0)
        died.kill()
        until(lambda: settled(members), "the dead member's session ends")
        produce("librdkafka", broker, topic, "none", rows(600, 300))
        until(lambda: committed(broker, topic, group) == 900, "the third part is committed")
        last = members.pop(0)
        last.leave()
    finally:
        for member in members:
            member.kill()
    seen = [r for m in (left, died, last) for r in m.records]
    assert len(set(seen)) == 900, "every record is read"


def test_members_of_different_clients_share_one_group(broker):
    topic = new_topic(broker, "group-mixed", partitions=PARTITIONS)
    members = []
    try:
        for client in ("java", "librdkafka", "franz-go"):
            members.append(Member(client, broker, topic, topic))
            until(lambda: settled(members), f"{client} shares with those before it")
        produce("java", broker, topic, "lz4", rows(0, 600))
        until(lambda: sum(len(set(m.records)) for m in members) >= 600, "all is read")
        for member in members:
            member.leave()
    finally:
        for member in members:
            member.kill()
    assert len({r for m in members for r in m.records}) == 600
    assert committed(broker, topic, topic) == 600


@pytest.mark.parametrize("client", ["java", "librdkafka", "franz-go"])
def test_a_static_member_that_comes_back_keeps_its_partitions(broker, client):
    topic = new_topic(broker, f"static-{client}", partitions=PARTITIONS)
    stay = Member(client, broker, topic, topic, "eager", "one")
    back = Member(client, broker, topic, topic, "eager", "two")
    try:
        until(lambda: settled([stay, back]), "two static members share")
        before, stay_before = back.assigned, stay.assigned
        back.kill()
        stay.assigned = None
        back = Member(client, broker, topic, topic, "eager", "two")
        until(lambda: back.assigned is not None, "the member is back")
        assert back.assigned == before
        assert stay.assigned is None, f"the other member saw a rebalance; it had {stay_before}"
        back.leave()
        stay.leave()
    finally:
        back.kill()
        stay.kill()
