"""Share groups (KIP-932) with Java's KafkaShareConsumer and Apache Kafka's tools: exact counts of what was dealt with."""

import re
import subprocess
import threading

import pytest

from harness.admin import new_topic
from harness.broker import start
from harness.clients import HERE, JAVA_OPTIONS, WORK, dump, produce
from harness.tools import tool
from harness.wait import until

PROGRAM = HERE / "clients/java/share/Sharing.java"
# The shortest time that Kafka lets a group set.
LOCK_MS = 15_000


@pytest.fixture(scope="module")
def share_broker(tmp_path_factory):
    settings = {"errors.deadletterqueue.auto.create.topics.enable": "true"}
    broker = start(tmp_path_factory.mktemp("share"), **settings)
    yield broker
    broker.stop()


class Sharer:
    """A member as a process of its own."""

    def __init__(self, broker, topic, group, rule, *extra):
        command = ["java", *JAVA_OPTIONS, "-Dlog4j2.level=OFF", "-cp", f"{WORK}/java/libs/*", str(PROGRAM)]
        self.process = subprocess.Popen([*command, broker.bootstrap, topic, group, rule, *extra],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.split())

    def said(self, word):
        return [line[1:] for line in list(self.lines) if line[0] == word]

    def check(self):
        assert self.process.poll() is None, self.process.stderr.read()[-2000:]

    def kill(self):
        self.process.kill()
        self.process.wait(30)
        self.reader.join(10)

    def leave(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.reader.join(10)
        assert self.process.returncode == 0, self.process.stderr.read()[-2000:]


def configure(broker, group, **configs):
    pairs = ",".join(f"{key.replace('_', '.')}={value}" for key, value in configs.items())
    tool("configs", "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "groups", "--entity-name", group,
         "--add-config", pairs)


def share_groups(broker, *args, check=True):
    return tool("share-groups", "--bootstrap-server", broker.bootstrap, *args, check=check)


def lag(broker, group, topic):
    """How many records of partition 0 are still to be dealt with."""
    shown = share_groups(broker, "--describe", "--group", group, "--offsets", check=False)
    found = re.search(rf"{re.escape(topic)}\s+0\s+\S+\s+(\S+)", shown)
    return found[1] if found else shown


def all_said(members, word):
    return [int(one[0]) for member in members for one in member.said(word)]


def test_ten_members_share_a_partition_and_every_record_is_dealt_with_once(share_broker):
    count = 2_000
    topic = new_topic(share_broker, "shared")
    group, letters = topic, f"dlq.{topic}"
    configure(share_broker, group, share_auto_offset_reset="earliest", share_record_lock_duration_ms=LOCK_MS,
              share_delivery_count_limit=10, errors_deadletterqueue_topic_name=letters, errors_deadletterqueue_copy_record_enable="true")
    holders, sorters = [Sharer(share_broker, topic, group, "hold") for _ in range(3)], []
    try:
        until(lambda: all(one.said("ready") for one in holders), "members begin")
        produce("java", share_broker, topic, "none", [[f"k{n}", str(n)] for n in range(count)])
        sorters = [Sharer(share_broker, topic, group, "sort") for _ in range(7)]
        until(lambda: any(one.said("held") for one in holders), "members hold records", 120)
        for one in holders:
            one.kill()
        held = sum(int(one.said("held")[-1][0]) for one in holders if one.said("held"))
        good, bad = set(range(count)) - set(range(0, count, 10)), set(range(0, count, 10))
        until(lambda: len(all_said(sorters, "accepted")) >= len(good), "all good records are accepted", 120)
        until(lambda: len(all_said(sorters, "rejected")) >= len(bad), "all bad records are rejected", 120)
    finally:
        for one in holders + sorters:
            one.kill() if one in holders else one.leave()
    assert held > 0
    assert sorted(all_said(sorters, "accepted")) == sorted(good)
    assert sorted(all_said(sorters, "rejected")) == sorted(bad)
    deliveries = [one[1] for member in sorters for word in ("accepted", "rejected") for one in member.said(word)]
    assert any(one != "1" for one in deliveries), "what the killed members held came again"
    again = sum(one != "1" for one in deliveries)
    print(f"{count} records, 10 members; 3 were killed with {held} records; {len(good)} accepted, {len(bad)} rejected, {again} of them delivered again")
    until(lambda: len(dump("java", share_broker, letters)) >= len(bad), "dead letters are written")
    rows = dump("java", share_broker, letters)
    assert sorted(int(row[4]) for row in rows) == sorted(bad)
    until(lambda: lag(share_broker, group, topic) == "0", "nothing is left")


def test_records_that_are_given_back_come_again(share_broker):
    topic = new_topic(share_broker, "released")
    configure(share_broker, topic, share_auto_offset_reset="earliest")
    produce("java", share_broker, topic, "none", [[None, str(n)] for n in range(50)])
    member = Sharer(share_broker, topic, topic, "release")
    try:
        until(lambda: len(member.said("accepted")) >= 50, "all are accepted", 90)
    finally:
        member.leave()
    assert sorted(int(one[0]) for one in member.said("released")) == list(range(50))
    assert [one[1] for one in member.said("accepted")] == ["2"] * 50


def test_renewed_records_stay_with_their_member(share_broker):
    topic = new_topic(share_broker, "renewed")
    configure(share_broker, topic, share_auto_offset_reset="earliest", share_record_lock_duration_ms=LOCK_MS)
    produce("java", share_broker, topic, "none", [[None, str(n)] for n in range(5)])
    member = Sharer(share_broker, topic, topic, "renew")
    try:
        until(lambda: len(member.said("accepted")) >= 5, "all are accepted", 90)
    finally:
        member.leave()
    assert member.said("renewed")[0] == ["5", str(LOCK_MS)]
    assert sorted(one for one in member.said("accepted")) == [[str(n), "1"] for n in range(5)]


def test_what_was_accepted_is_not_delivered_after_a_crash(tmp_path):
    broker = start(tmp_path)
    topic = new_topic(broker, "crashed")
    configure(broker, topic, share_auto_offset_reset="earliest")
    produce("java", broker, topic, "none", [[None, str(n)] for n in range(3_000)])
    # Twenty at a time: a whole batch could be kept and not said where a kill comes between.
    members = [Sharer(broker, topic, topic, "sort", "share.acquire.mode=record_limit") for _ in range(3)]
    try:
        for round in range(1, 4):
            until(lambda: len(all_said(members, "accepted")) >= 300 * round, "members are at work", 120)
            broker.kill()
            broker.restart()
        until(lambda: lag(broker, topic, topic) == "0", "nothing is left", 120)
        for one in members:
            one.check()
    finally:
        for one in members:
            one.kill()
        broker.stop()
    said = all_said(members, "accepted") + all_said(members, "rejected")
    assert len(said) == len(set(said)), "what the broker said it keeps came a second time"
    # A broker that is killed may have kept what it did not say; a member counts only what it was told.
    assert len(said) >= 3_000 - 3 * 3 * 20


def test_tools(share_broker):
    topic = new_topic(share_broker, "tools")
    group = f"{topic}-group"
    configure(share_broker, group, share_auto_offset_reset="earliest")
    produce("java", share_broker, topic, "none", [[None, f"v{n}"] for n in range(10)])
    read = tool("console-share-consumer", "--bootstrap-server", share_broker.bootstrap, "--topic", topic, "--group", group,
                "--max-messages", "10", "--timeout-ms", "60000")
    assert [line for line in read.splitlines() if line.startswith("v")] == [f"v{n}" for n in range(10)], read
    assert group in share_groups(share_broker, "--list").split()
    assert re.search(rf"{group}\s+Empty", share_groups(share_broker, "--list", "--state")), "the state is listed"
    until(lambda: lag(share_broker, group, topic) == "0", "all is accepted")
    reset = share_groups(share_broker, "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert re.search(rf"{group}\s+{topic}\s+0\s+0", reset), reset
    assert lag(share_broker, group, topic) == "10"
    read = tool("console-share-consumer", "--bootstrap-server", share_broker.bootstrap, "--topic", topic, "--group", group,
                "--max-messages", "10", "--timeout-ms", "60000")
    assert len([line for line in read.splitlines() if line.startswith("v")]) == 10, read
    deleted = share_groups(share_broker, "--delete-offsets", "--group", group, "--topic", topic)
    assert "Successful" in deleted, deleted
    assert "successful" in share_groups(share_broker, "--delete", "--group", group)
    assert group not in share_groups(share_broker, "--list").split()
