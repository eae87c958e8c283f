"""Field report F20: the wall clock steps back and forth while the broker runs.

libfaketime moves the wall clock of the broker alone; its monotonic clock is left as it is. Rolls and retention under
moved clocks are also tested on a simulated one in `src/log/tests/`. So is the timer of transactions, in `src/txn/tests/`.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness import raw
from harness.admin import new_topic
from harness.broker import Broker, free_port
from harness.clients import dump, produce
from harness.wait import until

HOUR, DAY = 3600, 86400
LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)
pytestmark = [
    pytest.mark.skipif(os.environ.get("COMPAT_BROKER") == "kafka", reason="libfaketime stops the JVM's own threads"),
    pytest.mark.skipif(LIBRARY is None, reason="faketime is not installed"),
]


class Moved(Broker):
    """A broker whose wall clock is `moved` seconds beside ours."""

    def move(self, seconds):
        fresh = self.folder / "time.new"
        fresh.write_text(f"{seconds:+d}\n")
        fresh.rename(self.folder / "time")

    def command(self):
        self.move(0)
        faked = {
            "LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.folder / "time"), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
        }
        return ["env", *(f"{name}={value}" for name, value in faked.items()), *super().command()]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    settings = {
        "group.min.session.timeout.ms": "1000", "log.retention.check.interval.ms": "200", "log.initial.task.delay.ms": "100",
        "message.timestamp.after.max.ms": str(400 * DAY * 1000), "group.initial.rebalance.delay.ms": "0",
    }
    broker = Moved(tmp_path_factory.mktemp("moved"), free_port(), settings).start()
    yield broker
    assert broker.alive() and "panicked" not in broker.log_text(), broker.log_tail()
    assert broker.stop() == 0


def stored_time(broker, connection, topic, offset):
    """The broker's time that a record of a LogAppendTime topic has; the record is written for that."""
    answer = raw.produce(connection, topic, 0, [(b"k", b"v")])
    assert (answer["ErrorCode"], answer["BaseOffset"]) == (0, offset), answer
    return answer["LogAppendTimeMs"]


def state(connection, group):
    return connection.call("DescribeGroups", 5, {"Groups": [group]})["Groups"][0]["GroupState"]


def join(connection, group, session):
    """The only member of a group, with its assignment."""
    find = lambda: connection.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": [group]})["Coordinators"][0]["ErrorCode"]
    until(lambda: find() == 0, "there is a coordinator")
    request = {
        "GroupId": group, "SessionTimeoutMs": session, "RebalanceTimeoutMs": 2 * session, "MemberId": "", "GroupInstanceId": None,
        "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": bytes(10)}],
    }
    request["MemberId"] = connection.call("JoinGroup", 5, request)["MemberId"]
    joined = connection.call("JoinGroup", 5, request)
    assert joined["ErrorCode"] == 0, joined
    me = {"GroupId": group, "GenerationId": joined["GenerationId"], "MemberId": joined["MemberId"]}
    assert connection.call("SyncGroup", 3, {**me, "Assignments": [{"MemberId": me["MemberId"], "Assignment": b"all"}]})["ErrorCode"] == 0
    return me


@pytest.mark.parametrize("jump", [-HOUR, HOUR, DAY], ids=["an hour back", "an hour forward", "a day forward"])
def test_timers_go_on_as_if_nothing_had_happened(broker, jump):
    broker.move(0)
    topic = new_topic(broker, f"clock{jump}", message_timestamp_type="LogAppendTime", retention_ms=-1)
    kept = new_topic(broker, f"kept{jump}", retention_ms=-1)
    alive, dead, waiting = f"alive{jump}", f"dead{jump}", f"waiting{jump}"
    with raw.Connection(broker) as c, raw.Connection(broker) as poll, raw.Connection(broker) as second:
        before = stored_time(broker, c, topic, 0)
        member = join(c, alive, 30_000)
        began = time.monotonic()  # before any of the waits begins
        join(c, dead, 3_000)
        first = join(c, waiting, 3_000)
        # The group waits for its first member, which is silent: the rebalance ends with that member's session.
        second.send("JoinGroup", 3, {
            "GroupId": waiting, "SessionTimeoutMs": 3_000, "RebalanceTimeoutMs": 4_000, "MemberId": "", "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": bytes(10)}]})
        poll.send("Fetch", 12, raw.fetch_request(kept, {0: 0}, wait=3_000))
        until(lambda: state(c, waiting) == "PreparingRebalance", "a second member joins")
        broker.move(jump)
        moved = stored_time(broker, c, topic, 1) - before
        assert abs(moved / 1000 - jump) < 60, f"the broker's wall clock has moved by {moved} ms"
        polled = died = rejoined = None
        poll.socket.setblocking(False)
        second.socket.setblocking(False)
        while None in (polled, died, rejoined):
            took = time.monotonic() - began
            assert took < 60, f"timers that never fire: {polled=} {died=} {rejoined=}"
            assert c.call("Heartbeat", 3, member)["ErrorCode"] == 0, "who is alive stays"
            if died is None and state(c, dead) == "Empty":
                died = took
            polled = polled or answered(poll.socket, took)
            rejoined = rejoined or answered(second.socket, took)
            time.sleep(0.05)
        assert state(c, alive) == "Stable"
        print(f"jump of {jump} s: long poll {polled:.1f} s, dead member {died:.1f} s, rebalance {rejoined:.1f} s")
        assert min(polled, died, rejoined) > 2.9, "a jump forward ends no wait early"
        for offset in range(2, 5):
            stored_time(broker, c, topic, offset)
        assert first["GenerationId"] == 1
    produce("franz-go", broker, kept, "none", [[None, "goes on"]])
    assert [r[4] for r in dump("librdkafka", broker, kept)] == ["goes on"]
    broker.move(0)


def answered(s, took):
    try:
        return took if s.recv(1 << 16) else None
    except BlockingIOError:
        return None


def test_a_roll_that_is_due_by_time_comes_and_old_records_are_found_after_the_clock_stepped_back(broker):
    broker.move(0)
    topic = new_topic(broker, "roll", segment_ms=1000 * 60 * 10, message_timestamp_type="LogAppendTime", retention_ms=-1)
    segments = lambda: len(list((broker.data / f"{topic}-0").glob("*.log")))
    with raw.Connection(broker) as c:
        times = [stored_time(broker, c, topic, 0)]
        for offset, seconds in enumerate([HOUR, 0, -HOUR, HOUR], 1):
            broker.move(seconds)
            times.append(stored_time(broker, c, topic, offset))
        assert segments() >= 2, "the jump forward rolls the segment"
        records = raw.fetched(raw.fetch(c, topic, {0: 0}))
        assert [r[2] for r in dump("librdkafka", broker, topic)] == times
        assert records[0]["HighWatermark"] == 5
        assert raw.list_offset(c, topic, 0, times[1])[2] == 1
    broker.move(0)
    broker.kill()
    broker.start()
    assert [r[2] for r in dump("librdkafka", broker, topic)] == times


def test_a_jump_of_the_clock_deletes_nothing_and_is_said_plainly(broker):
    """Better than Kafka, whose retention follows any clock at once."""
    broker.move(0)
    short = new_topic(broker, "short", retention_ms=HOUR * 1000)
    expired = new_topic(broker, "expired", retention_ms=HOUR * 1000)
    produce("librdkafka", broker, short, "none", [[None, "kept"]] * 10)
    with raw.Connection(broker) as c:
        runs = lambda: raw.list_offset(c, expired, 0, -2)[2]

        def retention_runs(number):
            """Waits for a run of retention: it removes what is old by any clock."""
            old = int(time.time() * 1000) - 30 * DAY * 1000
            assert raw.produce(c, expired, 0, [(None, b"old")], times=[old])["ErrorCode"] == 0
            until(lambda: runs() == number, "retention runs")

        retention_runs(1)
        for number, seconds in enumerate([-DAY, DAY, HOUR * 2, 0], 2):
            broker.move(seconds)
            retention_runs(number)
            assert raw.list_offset(c, short, 0, -2)[2] == 0, f"at {seconds} s"
    assert "wall clock jumped, ages wait an hour before they follow" in broker.log_text()
    produce("librdkafka", broker, short, "none", [[None, "kept"]])
    assert len(dump("librdkafka", broker, short)) == 11
