"""Every client writes with every codec; every other client reads the same records, headers included."""

import pytest

from harness.admin import new_topic
from harness.clients import CODECS, COMMANDS, dump, produce

HEADERS = [["trace", "abc-1"], ["empty", ""]]


def rows():
    return [[f"key-{i % 7}", f'{{"number": {i}, "text": "{"x" * (i % 50)}"}}', HEADERS] for i in range(300)]


def content(records):
    """What must be the same whatever the partition: key, value and headers, in order per key."""
    by_key = {}
    for _partition, _offset, _timestamp, key, value, headers in records:
        by_key.setdefault(key, []).append((value, tuple(map(tuple, headers))))
    return by_key


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("producer", COMMANDS)
def test_written_by_one_client_and_read_by_all(broker, producer, codec):
    topic = new_topic(broker, f"codecs-{producer}-{codec}", partitions=3)
    produce(producer, broker, topic, codec, rows())
    expected = content([(0, 0, 0, key, value, headers) for key, value, headers in rows()])
    seen = {client: dump(client, broker, topic) for client in COMMANDS}
    for client, records in seen.items():
        assert content(records) == expected, client
        assert records == seen[producer], f"{client} sees other partitions, offsets or timestamps than {producer}"
