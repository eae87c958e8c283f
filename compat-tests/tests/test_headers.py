"""Null, empty and repeated headers, null and empty keys and values: the same to every client that can show them."""

import pytest

from harness.admin import new_topic
from harness.clients import dump, produce

ROWS = [
    ["k", "v", [["a", "1"], ["a", "2"], ["b", None], ["c", ""], ["", "x"]]],
    [None, "no key", []],
    ["", "empty key", []],
    ["no value", None, []],
    ["empty value", "", []],
    [None, None, [["only", "headers"]]],
    ["many", "headers", [[f"h{i % 3}", str(i)] for i in range(10000)]],
]
FULL = ["java", "librdkafka", "franz-go"]


@pytest.mark.parametrize("settings", [{}, {"compression_type": "zstd"}, {"message_timestamp_type": "LogAppendTime"}], ids=["as sent", "recompressed", "append time"])
@pytest.mark.parametrize("producer", FULL)
def test_headers_keys_and_values_come_back_as_sent(broker, producer, settings):
    topic = new_topic(broker, f"headers-{producer}", **settings)
    produce(producer, broker, topic, "gzip", ROWS)
    for client in FULL + ["kafka-python"]:
        seen = [row[3:] for row in dump(client, broker, topic)]
        assert seen == ROWS, f"{client} reads something else than {producer} wrote"


@pytest.mark.parametrize("producer", FULL)
def test_append_time_is_the_brokers_and_the_same_for_a_whole_batch(broker, producer):
    topic = new_topic(broker, f"append-{producer}", message_timestamp_type="LogAppendTime")
    produce(producer, broker, topic, "lz4", [[None, f"{i}"] for i in range(50)])
    for client in FULL:
        times = [row[2] for row in dump(client, broker, topic)]
        assert times == sorted(times) and times[0] > 1_600_000_000_000, client
