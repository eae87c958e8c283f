"""Null, empty, unnamed and repeated headers, null and empty keys and values: the same to every client that can show them.

All clients write what they can express into one topic, and each reads what it can show.
"""

import pytest

from harness.admin import new_topic
from harness.ahead import Ahead
from harness.clients import CLIENTS, dump, produce
from harness.mixed import Mixed

HEADERS = {
    "plain": [["a", "1"], ["b", "2"]],
    "empty": [["a", ""]],
    "null": [["a", None]],
    "repeated": [["a", "1"], ["a", "2"], ["b", "3"]],
    "unnamed": [["", "x"]],
    "many": [[f"h{i:05}", str(i)] for i in range(10000)],
}
FULL = ["java", "librdkafka", "franz-go"]
ROWS = [
    ["k", "v", [["a", "1"], ["a", "2"], ["b", None], ["c", ""], ["", "x"]]],
    [None, "no key", []],
    ["", "empty key", []],
    ["no value", None, []],
    ["empty value", "", []],
    [None, None, [["only", "headers"]]],
    ["many", "headers", [[f"h{i % 3}", str(i)] for i in range(10000)]],
]


# Some clients fail at, or take minutes over, what the second topic has.
TOPICS = {"headers": {"plain", "empty", "repeated", "unnamed"}, "odd headers": {"null", "many"}}


def with_headers(client, shapes):
    return [[client, shape, headers] for shape, headers in HEADERS.items() if shape in CLIENTS[client].writes & shapes]


def with_nulls(client):
    """Where a client cannot tell empty from null when it writes, only what is null in the end is asked of it."""
    rows = [["key", client], [None, client], [client, "value"], [client, None], ["", client], [client, ""]]
    return rows if CLIENTS[client].writes_empty else rows[:4]


@pytest.fixture(scope="module")
def header_topics(shared_broker):
    """The topics by name, each written when it is first asked for."""
    made = {}

    def topic(name):
        if name not in made:
            made[name] = Mixed(
                shared_broker, new_topic(shared_broker, name.replace(" ", "-"), partitions=2), "gzip", lambda client: with_headers(client, TOPICS[name]))
        return made[name]

    return topic


@pytest.fixture(scope="module")
def null_topic(shared_broker):
    return Mixed(shared_broker, new_topic(shared_broker, "nulls", partitions=2), "none", with_nulls)


@pytest.fixture(scope="module")
def header_readers(header_topics, request):
    def work(name, client):
        return dump(client, header_topics(name).broker, header_topics(name).topic)

    for name in TOPICS:
        header_topics(name)
    ahead = Ahead(request, "test_reads_the_headers_of_all_others", ["name", "client"], work)
    yield ahead
    ahead.close()


@pytest.fixture(scope="module")
def null_readers(null_topic, request):
    ahead = Ahead(request, "test_reads_the_nulls_of_all_others", ["client"], lambda client: dump(client, null_topic.broker, null_topic.topic))
    yield ahead
    ahead.close()


def in_order(rows):
    return sorted(rows, key=repr)


WRITERS = [(name, client) for name, shapes in TOPICS.items() for client, facts in CLIENTS.items() if facts.writes & shapes]
READERS = [(name, client) for name, shapes in TOPICS.items() for client, facts in CLIENTS.items() if name == "headers" or shapes <= facts.reads]


@pytest.mark.feature("headers")
@pytest.mark.parametrize("name,client", WRITERS)
def test_writes_headers(header_topics, name, client):
    header_topics(name).check(client)
    seen = [row[3:] for row in header_topics(name).reference if row[3] == client]
    assert in_order(seen) == in_order(header_topics(name).rows[client])


@pytest.mark.feature("headers")
@pytest.mark.parametrize("name,client", READERS)
def test_reads_the_headers_of_all_others(header_topics, header_readers, name, client):
    written = header_topics(name).written()
    shown = CLIENTS[client].reads
    seen = [row[3:] for row in header_readers.result(name, client) if row[3] in written and row[4] in shown]
    assert in_order(seen) == in_order(row for rows in written.values() for row in rows if row[1] in shown)


@pytest.mark.feature("nulls")
@pytest.mark.parametrize("client", CLIENTS)
def test_writes_nulls(null_topic, client):
    null_topic.check(client)
    seen = [row[3:5] for row in null_topic.reference if client in row[3:5]]
    assert in_order(seen) == in_order(with_nulls(client))


@pytest.mark.feature("nulls")
@pytest.mark.parametrize("client", CLIENTS)
def test_reads_the_nulls_of_all_others(null_topic, null_readers, client):
    written = null_topic.written()
    shown = (lambda row: row) if CLIENTS[client].reads_empty else (lambda row: [part or None for part in row])
    seen = [row[3:5] for row in null_readers.result(client) if row[3] in written or row[4] in written]
    assert in_order(seen) == in_order(shown(row) for rows in written.values() for row in rows)


@pytest.mark.parametrize("settings", [{"compression_type": "zstd"}, {"message_timestamp_type": "LogAppendTime"}], ids=["recompressed", "append time"])
@pytest.mark.parametrize("producer", FULL)
def test_headers_keys_and_values_come_back_as_sent(broker, producer, settings):
    topic = new_topic(broker, f"headers-{producer}", **settings)
    produce(producer, broker, topic, "gzip", ROWS)
    for client in FULL:
        seen = [row[3:] for row in dump(client, broker, topic)]
        assert seen == ROWS, f"{client} reads something else than {producer} wrote"


@pytest.mark.parametrize("producer", FULL)
def test_append_time_is_the_brokers_and_the_same_for_a_whole_batch(broker, producer):
    topic = new_topic(broker, f"append-{producer}", message_timestamp_type="LogAppendTime")
    produce(producer, broker, topic, "lz4", [[None, f"{i}"] for i in range(50)])
    for client in FULL:
        times = [row[2] for row in dump(client, broker, topic)]
        assert times == sorted(times) and times[0] > 1_600_000_000_000, client
