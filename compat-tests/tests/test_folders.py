"""Apache Kafka and Dohle take turns on one data folder: records, offsets, settings, topic ids and groups go on."""

import pytest

from harness.admin import new_topic
from harness.broker import Broker, free_port
from harness.clients import CODECS, Member, dump, produce
from harness.kafka import Kafka
from harness.tools import tool
from harness.wait import until
from tests.test_groups import PARTITIONS, committed, settled


def describe(broker, topic):
    """Topic id, partitions and settings, as Kafka's tool shows them."""
    return tool("topics", "--bootstrap-server", broker.bootstrap, "--describe", "--topic", topic)


def use_group(broker, topic, total):
    """A member of the topic's group reads on; all of `total` records are committed when it leaves."""
    member = Member("java", broker, topic, topic)
    try:
        until(lambda: settled([member]), "the member owns all partitions")
        until(lambda: committed(broker, topic, topic) == total, "all is committed")
        member.leave()
    finally:
        member.kill()
    return member.records


@pytest.mark.parametrize("first", [Broker, Kafka], ids=["begun by us", "begun by Kafka"])
def test_two_brokers_take_turns_on_one_folder(folder, first):
    second = Kafka if first is Broker else Broker
    broker = first(folder, free_port(), {}).start()
    total, seen, topic, described = 0, [], None, None
    try:
        for turn, kind in enumerate([first, second, first, second, first]):
            if turn:
                assert broker.stop() in (0, 143), broker.log_tail()
                broker = kind(folder, free_port(), {}).start()
            else:
                topic = new_topic(broker, "folder", partitions=PARTITIONS, retention_ms=86400000)
                described = describe(broker, topic)
                assert "retention.ms=86400000" in described
            assert describe(broker, topic) == described
            assert len(dump("franz-go", broker, topic)) == total
            produce("java", broker, topic, CODECS[turn], [[f"k{i % 9}", f"turn {turn} row {i}"] for i in range(200)])
            total += 200
            seen += use_group(broker, topic, total)
        records = dump("librdkafka", broker, topic)
        assert len(records) == total and len({(p, o) for p, o, *_ in records}) == total
        assert sorted(set(seen)) == sorted((p, o) for p, o, *_ in records)
        assert len(seen) == total, "no record was read twice: the group went on where it was"
    finally:
        broker.kill()
