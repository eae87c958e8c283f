"""Classic consumer groups of every client through joins, leaves and deaths of members.

Most of the time here is waiting for sessions and rebalances, so some cases run at the same time.
"""

from functools import cache

import pytest

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from harness.admin import new_topic
from harness.ahead import Ahead
from harness.clients import CLIENTS, Member, produce
from harness.wait import until

PARTITIONS = 6
AT_ONCE = 4
CASES = [(client, mode) for client, facts in CLIENTS.items() for mode in facts.modes]
GROUPED = [client for client, facts in CLIENTS.items() if facts.modes]
STATIC = [client for client, facts in CLIENTS.items() if facts.static]


def rows(first, count):
    return [[f"key-{i}", f"value-{i}"] for i in range(first, first + count)]


@cache
def asking(bootstrap):
    """One client for all who ask over and over, from several threads."""
    return AdminClient({"bootstrap.servers": bootstrap})


def committed(broker, topic, group):
    request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(PARTITIONS)])]
    answer = asking(broker.bootstrap).list_consumer_group_offsets(request)[group].result(30)
    return sum(max(tp.offset, 0) for tp in answer.topic_partitions)


def settled(members):
    """Whether the members share all partitions without overlap."""
    for m in members:
        m.check()
    parts = [p for m in members for p in m.assigned or []]
    return all(m.assigned for m in members) and sorted(parts) == list(range(PARTITIONS))


@pytest.fixture(scope="module")
def ahead(shared_broker, request):
    """Starts the selected cases of a test when the first of them is asked for."""
    started = {}

    def start(test, names, work):
        if test not in started:
            started[test] = Ahead(request, test, names, lambda *case: work(shared_broker, *case), AT_ONCE)
        return started[test]

    yield start
    for one in started.values():
        one.close()


def join_leave_and_die(broker, client, mode):
    topic = new_topic(broker, f"group-{client}-{mode}", partitions=PARTITIONS)
    group = topic
    produce("franz-go", broker, topic, "none", rows(0, 300))
    members = [Member(client, broker, topic, group, mode)]
    try:
        until(lambda: settled(members), "one member owns everything")
        members.append(Member(client, broker, topic, group, mode))
        until(lambda: settled(members), "two members share")
        until(lambda: committed(broker, topic, group) == 300, "all is committed")
        produce("franz-go", broker, topic, "none", rows(300, 300))
        until(lambda: committed(broker, topic, group) == 600, "the second part is committed")
        left = members.pop(0)
        left.leave()
        until(lambda: settled(members), "the one left behind owns everything")
        members.append(Member(client, broker, topic, group, mode))
        until(lambda: settled(members), "two members share again")
        died = members.pop(0)
        died.kill()
        until(lambda: settled(members), "the dead member's session ends")
        produce("franz-go", broker, topic, "none", rows(600, 300))
        until(lambda: committed(broker, topic, group) == 900, "the third part is committed")
        last = members.pop(0)
        last.leave()
    finally:
        for member in members:
            member.kill()
    seen = [r for m in (left, died, last) for r in m.records]
    assert len(set(seen)) == 900, "every record is read"


@pytest.mark.feature
@pytest.mark.parametrize("client,mode", CASES)
def test_members_join_leave_and_die_and_every_record_is_read(ahead, client, mode):
    ahead("test_members_join_leave_and_die_and_every_record_is_read", ["client", "mode"], join_leave_and_die).result(client, mode)


def resume(broker, client):
    topic = new_topic(broker, f"resume-{client}", partitions=PARTITIONS)
    produce("franz-go", broker, topic, "none", rows(0, 200))
    first = Member(client, broker, topic, topic)
    second = None
    done = lambda member, end: member.check() or (len(member.records) >= 200 and committed(broker, topic, topic) == end)
    try:
        until(lambda: done(first, 200), "the first part is read and committed")
        first.leave()
        produce("franz-go", broker, topic, "none", rows(200, 200))
        second = Member(client, broker, topic, topic)
        until(lambda: done(second, 400), "the second part is read and committed")
        second.leave()
    finally:
        for member in filter(None, (first, second)):
            member.kill()
    assert len(first.records) == len(set(first.records)) == 200
    assert len(second.records) == len(set(second.records)) == 200
    assert not set(first.records) & set(second.records), "nothing is read again after its commit"


@pytest.mark.feature("resume")
@pytest.mark.parametrize("client", GROUPED)
def test_a_group_goes_on_where_it_committed(ahead, client):
    ahead("test_a_group_goes_on_where_it_committed", ["client"], resume).result(client)


def share(broker, client):
    """The client leads first; when it has left, the others take its partitions."""
    topic = new_topic(broker, f"mixed-{client}", partitions=PARTITIONS)
    others = [name for name in CLIENTS[client].shares_with if name != client][:2]
    members = []
    try:
        for name in (client, *others):
            members.append(Member(name, broker, topic, topic))
            until(lambda: settled(members), f"{name} shares with those before it")
        produce("franz-go", broker, topic, "lz4", rows(0, 600))
        until(lambda: sum(len(set(m.records)) for m in members) >= 600, "all is read")
        until(lambda: committed(broker, topic, topic) == 600, "all is committed")
        assert members[0].records, f"{client} read nothing"
        members[0].leave()
        until(lambda: settled(members[1:]), "the others take what it had")
        for member in members[1:]:
            member.leave()
    finally:
        for member in members:
            member.kill()
    assert len({r for m in members for r in m.records}) == 600


@pytest.mark.feature("mixed")
@pytest.mark.parametrize("client", GROUPED)
def test_members_of_different_clients_share_one_group(ahead, client):
    ahead("test_members_of_different_clients_share_one_group", ["client"], share).result(client)


def come_back(broker, client):
    topic = new_topic(broker, f"static-{client}", partitions=PARTITIONS)
    stay = Member(client, broker, topic, topic, "eager", "one")
    back = Member(client, broker, topic, topic, "eager", "two")
    try:
        until(lambda: settled([stay, back]), "two static members share")
        before, stay_before = back.assigned, stay.assigned
        back.kill()
        stay.assigned = None
        back = Member(client, broker, topic, topic, "eager", "two")
        until(lambda: back.check() or back.assigned is not None, "the member is back")
        assert back.assigned == before
        assert stay.assigned is None, f"the other member saw a rebalance; it had {stay_before}"
        back.leave()
        stay.leave()
    finally:
        back.kill()
        stay.kill()


@pytest.mark.feature("static")
@pytest.mark.parametrize("client", STATIC)
def test_a_static_member_that_comes_back_keeps_its_partitions(ahead, client):
    ahead("test_a_static_member_that_comes_back_keeps_its_partitions", ["client"], come_back).result(client)
