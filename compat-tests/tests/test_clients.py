"""What every client can do besides reading and writing small records: large batches, idempotence, times and admin calls."""

import base64
import random
import time

import pytest
from confluent_kafka import Producer

from harness.admin import admin, new_topic
from harness.ahead import Ahead
from harness.clients import CLIENTS, GROUPS, Session, digest, dump, produce
from harness.mixed import Mixed
from harness.wait import until


def those(*commands):
    """The clients whose admin sessions have all these commands."""
    return [name for name, client in CLIENTS.items() if set(commands) <= set(client.admin)]


@pytest.fixture(scope="module")
def sessions(shared_broker):
    """An admin session of each client, opened when it is first asked for."""
    opened = {}

    def session(client):
        if client not in opened:
            opened[client] = Session(client, shared_broker)
        return opened[client]

    yield session
    for one in opened.values():
        one.close()


# Large batches

def large(client):
    """One record of 900 KB that no codec makes small, between 2,000 small ones."""
    noise = base64.b64encode(random.Random(client).randbytes(675_000)).decode()
    small = [[f"{client} {i % 11}", f"{i} " + "y" * (i % 90)] for i in range(2000)]
    return small[:1000] + [[f"{client} large", noise]] + small[1000:]


@pytest.fixture(scope="module")
def large_topic(shared_broker):
    return Mixed(shared_broker, new_topic(shared_broker, "large", partitions=2), "lz4", large)


@pytest.fixture(scope="module")
def digests(large_topic, request):
    ahead = Ahead(request, "test_reads_the_large_batches_of_all_others", ["client"], lambda client: digest(client, large_topic.broker, large_topic.topic))
    yield ahead
    ahead.close()


@pytest.mark.feature("large")
@pytest.mark.parametrize("client", CLIENTS)
def test_writes_large_batches(large_topic, client):
    large_topic.check(client)
    seen, expected = {}, {}
    for _partition, _offset, _timestamp, key, value, _headers in large_topic.reference:
        if key.split()[0] == client:
            seen.setdefault(key, []).append(value)
    for key, value in large_topic.rows[client]:
        expected.setdefault(key, []).append(value)
    assert seen == expected


@pytest.mark.feature("large")
@pytest.mark.parametrize("client", CLIENTS)
def test_reads_the_large_batches_of_all_others(large_topic, digests, client):
    assert digests.result(client) == digest("franz-go", large_topic.broker, large_topic.topic)


# Idempotence

@pytest.fixture(scope="module")
def idempotent(shared_broker, request):
    def work(client):
        topic = new_topic(shared_broker, f"idempotent-{client}")
        produce(client, shared_broker, topic, "none", [[None, f"{i}"] for i in range(1500)], *filter(None, [CLIENTS[client].idempotent]))
        return topic

    ahead = Ahead(request, "test_an_idempotent_producer_is_known_to_the_broker", ["client"], work)
    yield ahead
    ahead.close()


@pytest.mark.feature("idempotence")
@pytest.mark.parametrize("client", [name for name, client in CLIENTS.items() if client.idempotent is not None])
def test_an_idempotent_producer_is_known_to_the_broker(broker, idempotent, sessions, client):
    topic = idempotent.result(client)
    assert sessions("franz-go").ask("producers", topic) == 1
    assert [row[4] for row in dump("franz-go", broker, topic)] == [f"{i}" for i in range(1500)]


# Times

BASE = 1_600_000_000_000


@pytest.fixture(scope="module")
def timed_topic(shared_broker):
    """100 records, one a second, in partition 0; one in partition 1; none in partition 2."""
    topic = new_topic(shared_broker, "times", partitions=3, retention_ms=-1)
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap, "compression.codec": "gzip", "linger.ms": 50})
    for i in range(100):
        producer.produce(topic, value=f"{i}", partition=0, timestamp=BASE + i * 1000)
    producer.produce(topic, value="one", partition=1, timestamp=BASE + 50_000)
    assert producer.flush(60) == 0
    return topic


@pytest.mark.feature("times")
@pytest.mark.parametrize("client", those("times"))
def test_offsets_for_times(timed_topic, sessions, client):
    ask = lambda at: sessions(client).offsets("times", timed_topic, at)
    none = {0: 100, 1: 1, 2: 0} if CLIENTS[client].ends_for_none else {0: -1, 1: -1, 2: -1}
    assert ask(-2) == {0: 0, 1: 0, 2: 0}, "the start"
    assert ask(-1) == {0: 100, 1: 1, 2: 0}, "the end"
    assert ask(BASE - 1) == {0: 0, 1: 0, 2: none[2]}, "before all"
    assert ask(BASE + 50_000) == {0: 50, 1: 0, 2: none[2]}, "the time of a record"
    assert ask(BASE + 50_001) == {0: 51, 1: none[1], 2: none[2]}, "between two records"
    assert ask(BASE + 99_001) == none, "after all"


# Admin calls

def unique(client, what):
    return f"{what}-{client}-{time.monotonic_ns()}"


@pytest.mark.feature("topics")
@pytest.mark.parametrize("client", those("create", "topics", "describe", "delete"))
def test_topics_are_made_listed_described_and_deleted(broker, sessions, client):
    session, name = sessions(client), unique(client, "made")
    settings = {"retention.ms": "123456"} if "configs" in CLIENTS[client].admin else {}
    session.ask("create", name, 4, settings)
    until(lambda: name in session.ask("topics"), "the new topic is listed")
    assert session.ask("describe", name) == 4
    assert len(admin(broker).list_topics(name).topics[name].partitions) == 4
    if settings:
        assert sessions("java").ask("configs", name)["retention.ms"] == "123456"
    with pytest.raises(AssertionError):
        session.ask("create", name, 4, settings)
    session.ask("delete", name)
    until(lambda: name not in session.ask("topics"), "the topic is gone")
    assert name not in admin(broker).list_topics().topics


@pytest.mark.feature("configs")
@pytest.mark.parametrize("client", those("configs", "alter"))
def test_configs_are_described_and_altered(broker, sessions, client):
    session, judge = sessions(client), sessions("java")
    name = new_topic(broker, f"configs-{client}", segment_bytes=2097152)
    assert session.ask("configs", name)["segment.bytes"] == "2097152"
    session.ask("alter", name, {"retention.ms": "7654321", "cleanup.policy": "compact"})
    until(lambda: judge.ask("configs", name)["retention.ms"] == "7654321", "the change is seen by Java")
    found = session.ask("configs", name)
    assert (found["retention.ms"], found["cleanup.policy"]) == ("7654321", "compact")
    with pytest.raises(AssertionError):
        session.ask("alter", name, {"retention.ms": "soon"})
    assert session.ask("configs", name)["retention.ms"] == "7654321"


@pytest.mark.feature("partitions")
@pytest.mark.parametrize("client", those("grow", "describe"))
def test_partitions_are_added(broker, sessions, client):
    session, name = sessions(client), new_topic(broker, f"grow-{client}", partitions=2)
    session.ask("grow", name, 5)
    until(lambda: session.ask("describe", name) == 5, "five partitions are described")
    assert len(admin(broker).list_topics(name).topics[name].partitions) == 5
    with pytest.raises(AssertionError):
        session.ask("grow", name, 3)


@pytest.mark.feature("records")
@pytest.mark.parametrize("client", those("truncate", "times"))
def test_records_are_deleted(broker, sessions, client):
    session, name = sessions(client), new_topic(broker, f"truncate-{client}")
    produce("franz-go", broker, name, "none", [[None, f"{i}"] for i in range(20)])
    session.ask("truncate", name, 0, 12)
    assert session.offsets("times", name, -2) == {0: 12}
    assert [row[1] for row in dump("franz-go", broker, name)] == list(range(12, 20))
    with pytest.raises(AssertionError):
        session.ask("truncate", name, 0, 99)


def group_of(sessions, broker, client, offsets):
    """A group without members that has committed offsets; returns its name and topic."""
    topic = new_topic(broker, f"committed-{client}", partitions=3)
    group = unique(client, "group")
    sessions("franz-go").ask("commit", group, topic, offsets)
    return group, topic


@pytest.mark.feature("groups")
@pytest.mark.parametrize("client", those("groups", "group"))
def test_groups_are_listed_described_and_deleted(broker, sessions, client):
    session = sessions(client)
    group, _topic = group_of(sessions, broker, client, {"0": 1})
    assert group in session.ask("groups")
    state, members = session.ask("group", group)
    assert (state.upper(), members) == ("EMPTY", 0)
    if GROUPS <= set(CLIENTS[client].admin):
        session.ask("forget", group)
        assert group not in session.ask("groups")
        assert group not in sessions("java").ask("groups")


@pytest.mark.feature("offsets")
@pytest.mark.parametrize("client", those("committed"))
def test_offsets_of_a_group_are_fetched_and_altered(broker, sessions, client):
    session = sessions(client)
    group, topic = group_of(sessions, broker, client, {"0": 7, "2": 9})
    kept = lambda offsets: {p: at for p, at in offsets.items() if at >= 0}
    assert kept(session.offsets("committed", group, topic)) == {0: 7, 2: 9}
    if "commit" in CLIENTS[client].admin:
        session.ask("commit", group, topic, {"0": 3, "1": 4})
        assert kept(session.offsets("committed", group, topic)) == {0: 3, 1: 4, 2: 9}
        assert sessions("java").offsets("committed", group, topic) == {0: 3, 1: 4, 2: 9}
