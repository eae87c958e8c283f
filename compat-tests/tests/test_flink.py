"""A Flink job with its Kafka connector: counts with state and an exactly-once sink, which fails, is killed together
with the broker, and goes on from its last checkpoint."""

import os

import pytest

from harness.admin import new_topic
from harness.broker import start
from harness.clients import committed, produce
from harness.programs import Program, jvm
from harness.wait import until

FULL = os.environ.get("COMPAT_FULL") == "1"
NUMBERS = 20000 if FULL else 4000
# Each number takes two milliseconds in one of two tasks; the job's start takes half a minute on a busy machine.
SECONDS = 120 + NUMBERS // 100
# How the sink names its transactions; each takes half a minute.
NAMINGS = ["INCREMENTING", "POOLING"] if FULL else ["INCREMENTING"]
OPENS = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.lang", "java.util", "java.time", "java.util.concurrent.atomic")]


def last_checkpoint(folder):
    """The folder of the newest whole checkpoint."""
    whole = sorted(folder.glob("*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime)
    return whole[-1].parent if whole else None


@pytest.mark.parametrize("naming", NAMINGS)
def test_a_job_counts_exactly_once_although_it_fails_and_all_is_killed(folder, naming):
    broker = start(folder / "broker", transaction_state_log_num_partitions="4")
    job = None

    def run(checkpoints, *restored):
        return Program(folder, f"flink-{checkpoints}", jvm(
            "flink", "dohle.Counting", broker.bootstrap, source, sink, naming, str(folder / checkpoints), str(NUMBERS * 3 // 4), *restored,
            memory=640, options=OPENS)).start()

    try:
        source, sink = new_topic(broker, "numbers", partitions=2), new_topic(broker, "counts", partitions=2)
        produce("librdkafka", broker, source, "lz4", [[str(n % 10), str(n)] for n in range(NUMBERS)])
        seen = lambda: sum(map(len, committed("librdkafka", broker, sink, "").values()))
        job = run("first")
        until(lambda: job.check() or (seen() >= NUMBERS // 8 and last_checkpoint(folder / "first")), "the first counts are committed", SECONDS)
        job.kill()
        broker.kill()
        broker.start()
        before = seen()
        assert before < NUMBERS, "it was killed too late"
        job = run("second", str(last_checkpoint(folder / "first")))
        until(lambda: job.check() or seen() >= NUMBERS, "all counts are committed", SECONDS)
        assert "failing once" in job.log.read_text(), "it did not fail on the way"
        job.stop()
        counts = [value for values in committed("librdkafka", broker, sink, "").values() for value in values]
        assert sorted(counts) == sorted(f"{digit}:{n + 1}" for digit in range(10) for n in range(NUMBERS // 10))
    finally:
        if job is not None:
            job.kill()
        broker.kill()
