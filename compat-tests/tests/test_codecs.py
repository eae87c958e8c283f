"""Every client writes with every codec into the same topics; every client reads what all others wrote, headers included."""

import pytest

from harness.admin import new_topic
from harness.ahead import Ahead
from harness.clients import CLIENTS, CODECS, dump
from harness.mixed import Mixed

pytestmark = pytest.mark.feature("codecs")
HEADERS = [["source", "test"], ["trace", "abc-1"]]


def rows(client):
    return [[f"{client} {i % 7}", f'{{"number": {i}, "text": "{"x" * (i % 50)}"}}', HEADERS] for i in range(300)]


def by_key(records):
    """What must be the same whatever the partition: values and headers, in order per key."""
    found = {}
    for key, value, headers in records:
        found.setdefault(key, []).append((value, tuple(map(tuple, headers))))
    return found


@pytest.fixture(scope="module", params=CODECS)
def mixed(shared_broker, request):
    codec = request.param
    return Mixed(shared_broker, new_topic(shared_broker, f"codecs-{codec}", partitions=3), codec, rows)


@pytest.fixture(scope="module")
def readers(mixed, request):
    ahead = Ahead(request, "test_reads_what_all_others_wrote", ["client"], lambda client: dump(client, mixed.broker, mixed.topic))
    yield ahead
    ahead.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_writes(mixed, client):
    mixed.check(client)


@pytest.mark.parametrize("client", CLIENTS)
def test_reads_what_all_others_wrote(mixed, readers, client):
    records = readers.result(client)
    written = mixed.written()
    expected = by_key(row for rows in written.values() for row in rows)
    seen = by_key((key, value, headers) for _partition, _offset, _timestamp, key, value, headers in records)
    assert {key: values for key, values in seen.items() if key.split()[0] in written} == expected
    assert [row[:4] for row in records] == [row[:4] for row in mixed.reference], "other partitions, offsets or timestamps than franz-go sees"
