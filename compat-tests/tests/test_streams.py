"""A Kafka Streams application of several instances, by the classic and by the streams protocol (KIP-1071): each word's
count comes out step by step, whoever is killed meanwhile."""

import random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.admin import admin, new_topic
from harness.broker import start
from harness.streams import WordCount
from harness.tools import tool
from harness.wait import until

PARTITIONS = 4
WORDS = [f"word-{number}" for number in range(50)]
# Half of them from the input to the repartition topic, half from there.
TASKS = 2 * PARTITIONS


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A broker whose streams groups may notice soon that a member is lost: those that ask for it."""
    broker = start(
        tmp_path_factory.mktemp("streams"),
        group_streams_min_session_timeout_ms=3000,
        group_streams_session_timeout_ms=30000,
        group_streams_min_heartbeat_interval_ms=200,
        group_streams_heartbeat_interval_ms=500,
        group_streams_initial_rebalance_delay_ms=500,
    )
    yield broker
    broker.stop()


class Load:
    """Writes random lines and knows what the counts must become."""

    def __init__(self, broker, topic):
        self.producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5, "enable.idempotence": True})
        self.topic = topic
        self.expected = dict.fromkeys(WORDS, 0)
        self.random = random.Random(7)

    def write(self, lines):
        for number in range(lines):
            words = [self.random.choice(WORDS) for _ in range(5)]
            for word in words:
                self.expected[word] += 1
            self.producer.produce(self.topic, " ".join(words), partition=number % PARTITIONS)
            self.producer.poll(0)
        assert self.producer.flush(60) == 0


class Counts:
    """Reads the output as committed; the last count of every word, and every step to it."""

    def __init__(self, broker, topic):
        self.consumer = Consumer({
            "bootstrap.servers": broker.bootstrap, "group.id": f"reads-{topic}", "isolation.level": "read_committed",
            "auto.offset.reset": "earliest", "enable.auto.commit": False,
        })
        self.consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        self.steps = {word: [] for word in WORDS}

    def read(self):
        for record in self.consumer.consume(10_000, timeout=0.5):
            assert record.error() is None, record.error()
            self.steps[record.key().decode()].append(int(record.value()))

    def have(self, expected):
        self.read()
        return all((steps[-1] if steps else 0) >= expected[word] for word, steps in self.steps.items())


def application(broker, name, folder, source, sink, protocol, guarantee):
    settings = {"group_protocol": protocol, "processing_guarantee": guarantee}
    if protocol == "classic":
        settings["consumer_session_timeout_ms"] = 6000
        settings["consumer_heartbeat_interval_ms"] = 500
    return WordCount(broker, name, folder, source, sink, **settings)


def configure(broker, group, setting):
    tool("configs", "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "groups", "--entity-name", group,
         "--add-config", setting)


def spread(instances):
    """Waits until each has as many tasks as the others: who came first has all of them for a while."""
    return until(
        lambda: all(one.runs() for one in instances) and all(one.counts()[0] == TASKS / len(instances) for one in instances),
        f"{len(instances)} instances have as many tasks each", 120,
    )


@pytest.mark.parametrize("protocol", ["streams", "classic"])
def test_counts_are_exact_when_an_instance_is_killed(quick, folder, protocol):
    source, sink = (new_topic(quick, name, partitions=PARTITIONS) for name in ("lines", "counted"))
    name = f"words-{source}"
    if protocol == "streams":
        configure(quick, name, "streams.session.timeout.ms=6000")
    load, counts = Load(quick, source), Counts(quick, sink)
    instances = [application(quick, name, folder / f"{n}", source, sink, protocol, "exactly_once_v2") for n in range(2)]
    try:
        spread(instances)
        load.write(400)
        until(lambda: counts.read() or any(counts.steps.values()), "counts come out", 60)
        load.write(200)
        instances[0].kill()
        load.write(400)
        until(lambda: counts.have(load.expected), "all counts come out", 120)
        until(lambda: instances[1].counts()[0] == TASKS, "the other has all tasks", 60)
        instances[0] = application(quick, name, folder / "again", source, sink, protocol, "exactly_once_v2")
        load.write(200)
        until(lambda: counts.have(load.expected), "all counts come out", 120)
        spread(instances)
        for word, steps in counts.steps.items():
            assert steps == list(range(1, load.expected[word] + 1)), word
    finally:
        for one in instances:
            one.close()


def test_instances_that_come_and_go_lose_and_double_nothing(quick, folder):
    source, sink = (new_topic(quick, name, partitions=PARTITIONS) for name in ("lines", "counted"))
    name = f"words-{source}"
    load, counts = Load(quick, source), Counts(quick, sink)
    instances = [application(quick, name, folder / "0", source, sink, "streams", "at_least_once")]
    try:
        spread(instances)
        load.write(300)
        instances.append(application(quick, name, folder / "1", source, sink, "streams", "at_least_once"))
        spread(instances)
        load.write(300)
        until(lambda: counts.have(load.expected), "all counts come out", 60)
        assert tool("groups", "--bootstrap-server", quick.bootstrap, "--list").count("Streams") >= 1
        shown = tool("streams-groups", "--bootstrap-server", quick.bootstrap, "--describe", "--group", name, "--state")
        assert "Stable" in shown, shown
        instances.pop(0).close()
        load.write(300)
        until(lambda: counts.have(load.expected), "all counts come out", 60)
        until(lambda: instances[0].counts()[0] == TASKS, "the other has all tasks", 60)
        topics = set(admin(quick).list_topics(timeout=30).topics)
        assert {f"{name}-words-repartition", f"{name}-counts-changelog"} <= topics
        for word, steps in counts.steps.items():
            assert steps == list(range(1, load.expected[word] + 1)), word
    finally:
        for one in instances:
            one.close()


def test_standby_tasks_are_kept_where_a_group_asks_for_them(quick, folder):
    source, sink = (new_topic(quick, name, partitions=PARTITIONS) for name in ("lines", "counted"))
    name = f"words-{source}"
    configure(quick, name, "streams.num.standby.replicas=1")
    instances = [application(quick, name, folder / f"{n}", source, sink, "streams", "at_least_once") for n in range(2)]
    try:
        spread(instances)
        until(lambda: sum(one.counts()[1] for one in instances) == PARTITIONS, "each stateful task has a standby", 60)
    finally:
        for one in instances:
            one.close()
