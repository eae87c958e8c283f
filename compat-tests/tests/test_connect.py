"""Kafka Connect in distributed mode: a file goes through a topic into another file, while worker and broker end and
come back. What the worker knows is in three compacted topics of the broker alone."""

import os

import pytest

from harness.broker import start
from harness.clients import Session, committed, dump
from harness.connect import TOPICS, Worker
from harness.wait import until

LINES = 20000 if os.environ.get("COMPAT_FULL") == "1" else 1500


class Pipe:
    """A file, the topic that it is copied to, and the file that the topic is copied to."""

    def __init__(self, folder, broker, **settings):
        self.broker = broker
        self.source, self.sink = folder / "source.txt", folder / "sink.txt"
        self.source.write_text("")
        self.written = []
        self.worker = Worker(folder, broker, "connect", **settings)

    def configure(self):
        self.worker.configure(
            "source", connector_class="FileStreamSource", tasks_max=1, file=self.source, topic="lines", batch_size=100,
            topic_creation_default_replication_factor=1, topic_creation_default_partitions=1)
        self.worker.configure("sink", connector_class="FileStreamSink", tasks_max=1, file=self.sink, topics="lines")

    def append(self, count):
        new = [f"line {number} of the source" for number in range(len(self.written), len(self.written) + count)]
        with open(self.source, "a") as out:
            out.write("".join(f"{line}\n" for line in new))
        self.written += new

    def out(self):
        return self.sink.read_text().splitlines() if self.sink.exists() else []

    def arrived(self):
        """Waits until the last line is in the sink, and returns all that is in it."""
        def last():
            self.worker.check()
            out = self.out()
            return out and out[-1] == self.written[-1]
        try:
            until(last, "the last line arrives", 120)
        except AssertionError:
            seen = self.out()
            raise AssertionError(f"{len(seen)} lines of {len(self.written)}, the last is {seen[-1:]}: {self.worker.tail()}") from None
        return self.out()

    def topic(self):
        return committed("librdkafka", self.broker, "lines", "")[0]


def firsts(lines):
    """The lines in the order of their first appearance."""
    return list(dict.fromkeys(lines))


@pytest.fixture
def pipe(folder, request):
    broker = start(folder / "broker", transaction_state_log_num_partitions="4")
    pipe = Pipe(folder, broker, exactly_once_source_support=request.param)
    try:
        pipe.worker.start()
        pipe.configure()
        yield pipe
    finally:
        pipe.worker.kill()
        broker.kill()


@pytest.mark.parametrize("pipe", ["disabled", "enabled"], indirect=True)
def test_a_file_is_copied_while_worker_and_broker_restart(pipe):
    pipe.append(LINES)
    assert pipe.arrived() == pipe.written
    session = Session("librdkafka", pipe.broker)
    policies = {topic: session.ask("configs", f"connect-{topic}")["cleanup.policy"] for topic in TOPICS}
    assert policies == dict.fromkeys(TOPICS, "compact")
    assert [session.ask("describe", f"connect-{topic}") for topic in TOPICS] == [1, 3, 2]
    session.close()

    # An orderly end of the worker; what it was told to do is in the topics.
    pipe.worker.stop()
    pipe.append(LINES)
    pipe.worker.start()
    assert pipe.arrived() == pipe.written
    whole = [{"partition": {"filename": str(pipe.source)}, "offset": {"position": pipe.source.stat().st_size}}]
    until(lambda: pipe.worker.offsets("source") == whole, "the source's offset is stored")

    # The broker dies and comes back while the worker goes on.
    pipe.broker.kill()
    pipe.append(LINES)
    pipe.broker.start()
    copied = pipe.arrived()
    assert firsts(copied) == pipe.written
    assert pipe.topic() == pipe.written

    # Both die in the middle of the work.
    pipe.append(LINES)
    until(lambda: len(pipe.out()) > 3 * LINES, "the copy goes on")
    pipe.worker.kill()
    pipe.broker.kill()
    pipe.append(LINES)
    pipe.broker.start()
    pipe.worker.start()
    until(lambda: pipe.worker.runs("source") and pipe.worker.runs("sink"), "both connectors run", 90)
    assert firsts(pipe.arrived()) == pipe.written
    exactly_once = "exactly.once.source.support=enabled" in (pipe.worker.log.parent / "connect.properties").read_text()
    topic = pipe.topic()
    assert (topic if exactly_once else firsts(topic)) == pipe.written
    position = dump("librdkafka", pipe.broker, "lines")[-1][1] + 1
    reached = [{"partition": {"kafka_topic": "lines", "kafka_partition": 0}, "offset": {"kafka_offset": position}}]
    until(lambda: pipe.worker.offsets("sink") == reached, "the sink's offset is committed")

    # What was copied is copied again when offsets are moved back: in the worker's topic, and as those of a group.
    ten = pipe.written[-10:]
    pipe.worker.halt("source")
    here = {"filename": str(pipe.source)}
    pipe.worker.ask("PATCH", "/connectors/source/offsets", {
        "offsets": [{"partition": here, "offset": {"position": pipe.source.stat().st_size - sum(len(line) + 1 for line in ten)}}]})
    pipe.worker.ask("PUT", "/connectors/source/resume")
    until(lambda: pipe.topic() == topic + ten, "the last ten lines once more", 60)
    pipe.worker.halt("sink")
    pipe.worker.ask("DELETE", "/connectors/sink/offsets")
    pipe.sink.unlink()
    pipe.worker.ask("PUT", "/connectors/sink/resume")
    until(lambda: pipe.out() == topic + ten, "the whole topic once more", 60)
