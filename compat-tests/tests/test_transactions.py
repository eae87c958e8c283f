"""Transactions of every client that has them: commit, abort, fencing, time-out, offsets of groups, and `kill -9` of
broker and application while records are consumed and copied (the short form of `crash/run copies`)."""

import os
import time
from functools import cache

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from crash import copies
from crash.history import Fault
from harness.admin import new_topic
from harness.clients import CLIENTS, Refused, Transactions, committed, dump
from harness.tools import tool
from harness.wait import until

TRANSACTING = [name for name, facts in CLIENTS.items() if facts.transacts]
KILLS = int(os.environ.get("COMPAT_KILLS", "3"))
SEED = int(os.environ.get("COMPAT_SEED", time.time()))


@pytest.fixture
def topic(shared_broker):
    return new_topic(shared_broker, "ledger", partitions=2)


def transactions(broker, *args):
    return tool("transactions", "--bootstrap-server", broker.bootstrap, *args)


@cache
def asking(bootstrap):
    """One client for all who ask over and over."""
    return AdminClient({"bootstrap.servers": bootstrap})


def offsets_of(broker, group, topic):
    request = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in (0, 1)])]
    found = asking(broker.bootstrap).list_consumer_group_offsets(request)[group].result(60)
    return [tp.offset for tp in found.topic_partitions]


@pytest.mark.parametrize("client", TRANSACTING)
def test_committed_readers_see_what_is_committed_and_no_more(shared_broker, topic, client):
    with Transactions(client, shared_broker, f"tx-{topic}") as producer:
        producer.write(topic, ["a", "b"])
        producer.write(topic, ["lost"], how="abort")
        producer.write(topic, ["c"])
        producer.write(topic, ["lost too"], how="abort")
        producer.write(topic, ["end"])
    assert committed(client, shared_broker, topic, "end") == {p: ["a", "b", "c", "end"] for p in (0, 1)}
    everything = [row[4] for row in dump("java", shared_broker, topic) if row[0] == 0]
    assert everything == ["a", "b", "lost", "c", "lost too", "end"]


@pytest.mark.parametrize("client", TRANSACTING)
def test_a_newer_producer_of_the_same_id_fences_an_older_one(shared_broker, topic, client):
    name = f"tx-{topic}"
    with Transactions(client, shared_broker, name) as old:
        old.write(topic, ["a"])
        old.write(topic, ["torn"], how=None)
        with Transactions(client, shared_broker, name) as new:
            new.write(topic, ["b"])
            with pytest.raises(Refused):
                old.ask("send", topic, 0, "late")
                old.ask("flush")
                old.ask("commit")
            new.write(topic, ["end"])
    assert committed(client, shared_broker, topic, "end") == {p: ["a", "b", "end"] for p in (0, 1)}


@pytest.mark.parametrize("client", TRANSACTING)
def test_offsets_of_a_group_count_when_their_transaction_commits(shared_broker, topic, client):
    group = f"group-{topic}"
    with Transactions(client, shared_broker, f"tx-{topic}") as producer:
        for how, offset, seen in (("commit", 5, 5), ("abort", 7, 5), ("commit", 9, 9)):
            producer.ask("begin")
            producer.ask("send", topic, 0, str(offset))
            producer.ask("flush")
            producer.ask("offsets", group, topic, {"0": offset, "1": offset})
            producer.ask(how)
            until(lambda: offsets_of(shared_broker, group, topic) == [seen, seen], f"{how} of {offset}")


def test_a_transaction_whose_time_is_up_is_aborted_and_readers_go_on(shared_broker, topic):
    with Transactions("java", shared_broker, f"tx-{topic}", 15_000) as late, Transactions("java", shared_broker, f"other-{topic}") as other:
        late.write(topic, ["torn"], how=None)
        other.write(topic, ["end"])
        assert committed("librdkafka", shared_broker, topic, "end") == {0: [], 1: []}, "the open transaction is in the way"
        until(lambda: committed("librdkafka", shared_broker, topic, "end") == {0: ["end"], 1: ["end"]}, "the time is up", 90)
        with pytest.raises(Refused):
            late.ask("commit")


def test_the_tool_finds_a_hanging_transaction_and_aborts_it(shared_broker, topic):
    name = f"tx-{topic}"
    with Transactions("java", shared_broker, name, 300_000) as producer:
        producer.write(topic, ["open"], how=None)
        assert name in transactions(shared_broker, "list")
        shown = transactions(shared_broker, "describe", "--transactional-id", name)
        assert "Ongoing" in shown and f"{topic}-0" in shown and f"{topic}-1" in shown, shown
        found = transactions(shared_broker, "describe-producers", "--topic", topic, "--partition", "0")
        start_offset = found.strip().splitlines()[-1].split()[-1]
        assert start_offset == "0", found
        transactions(shared_broker, "abort", "--topic", topic, "--partition", "0", "--start-offset", start_offset)
        found = transactions(shared_broker, "describe-producers", "--topic", topic, "--partition", "0")
        assert found.strip().splitlines()[-1].split()[-1] == "None", found


@pytest.mark.parametrize("way", [way for way in copies.WAYS if way != "java-group"])
def test_a_copy_is_exact_although_broker_and_copiers_are_killed(way):
    copies.run(1, SEED, ways=[way], records=copies.WAYS[way].records // 4, kills=KILLS)


def test_a_copy_that_is_not_exact_is_noticed():
    with pytest.raises(Fault, match="were copied twice"):
        copies.run(1, SEED, "doubled", ways=["librdkafka"], records=100, kills=0)
