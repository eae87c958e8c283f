"""Field report F11: foreign entries in the data directory, and a start as another user than root.

That nothing foreign is removed on real folders is also tested in `src/log/tests/folders.rs`. Better than Kafka, which
stops at an entry whose name it does not understand.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from harness import raw
from harness.admin import new_topic
from harness.broker import Broker, free_port
from harness.clients import dump, produce
from harness.wait import until

pytestmark = pytest.mark.skipif(os.environ.get("COMPAT_BROKER") == "kafka", reason="better than Kafka")
NOBODY = 65534


class Unprivileged(Broker):
    """The broker as a user who owns its folder and nothing else."""

    def command(self):
        command = super().command()
        if os.geteuid() != 0:
            return command
        os.chown(self.folder / "server.properties", NOBODY, NOBODY)
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]


@pytest.fixture
def place():
    """A folder that another user can reach, with a copy of the program."""
    folder = Path(tempfile.mkdtemp(prefix="dohle-foreign-"))
    folder.chmod(0o755)
    program = shutil.copy(os.environ["DOHLE_BIN"], folder / "dohle")
    os.chmod(program, 0o755)
    yield folder, program
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False)
    shutil.rmtree(folder)


def seen(path):
    """Every foreign entry as it stands: its kind, mode, owner, time and size."""
    stats = {p: p.lstat() for p in sorted(path.rglob("*"))}
    return {str(p.relative_to(path)): (s.st_mode, s.st_uid, s.st_mtime_ns, s.st_size) for p, s in stats.items()}


def test_foreign_entries_are_no_reason_to_stop_and_are_left_alone(place, monkeypatch):
    folder, program = place
    monkeypatch.setenv("DOHLE_BIN", str(program))
    data = folder / "node" / "data"
    data.mkdir(parents=True)
    silent, others = ["lost+found", ".snapshot", "..data"], ["foo", "bar-delete", "locked"]
    for name in silent + others:
        (data / name).mkdir()
        (data / name / "keep").write_text("mine")
    (data / "stray file").write_text("mine")
    if os.geteuid() == 0:
        for path in (folder / "node", data, data / ".snapshot", data / "foo", data / "stray file"):
            os.chown(path, NOBODY, NOBODY)
    (data / "lost+found").chmod(0o700)
    (data / "locked").chmod(0)
    before = seen(data)
    broker = Unprivileged(folder / "node", free_port(), {}).start()
    try:
        status = Path(f"/proc/{broker.process.pid}/status").read_text()
        assert os.geteuid() != 0 or f"Uid:\t{NOBODY}" in status, "it runs as another user"
        topic = new_topic(broker, "beside")
        produce("librdkafka", broker, topic, "none", [["k", "v"]])
        assert broker.stop() == 0
        log = broker.log_text()
        for name in others + ["stray file"]:
            lines = [line for line in log.splitlines() if name in line and "WARN" in line]
            assert len(lines) == 1, f"one warning for {name}: {lines}"
        for name in silent:
            assert name not in log, f"{name} is well known: {log}"
        assert " ERROR " not in log, log
        broker.start()
        assert [r[4] for r in dump("librdkafka", broker, topic)] == ["v"]
    finally:
        broker.kill()
    after = seen(data)
    assert {name: after.get(name) for name in before} == before, "nothing foreign is touched"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder that its reader does not own")
def test_a_data_directory_of_somebody_else_stops_the_start_with_one_sentence(place, monkeypatch):
    folder, program = place
    monkeypatch.setenv("DOHLE_BIN", str(program))
    data = folder / "node" / "data"
    data.mkdir(parents=True)
    os.chown(folder / "node", NOBODY, NOBODY)
    data.chmod(0o700)
    broker = Unprivileged(folder / "node", free_port(), {})
    done = subprocess.run(broker.command(), capture_output=True, text=True, timeout=30)
    assert done.returncode not in (0, 101), "it stops, and not by a panic"
    assert str(data) in done.stderr and "ermission denied" in done.stderr, done.stderr


def test_a_kill_during_a_deletion_leaves_nothing_behind(folder):
    broker = Broker(folder, free_port(), {}).start()
    try:
        kept = new_topic(broker, "kept")
        produce("librdkafka", broker, kept, "none", [["k", "v"]])
        for number in range(5):
            topic = new_topic(broker, f"doomed-{number}", partitions=60)
            with raw.Connection(broker) as c:
                c.send("DeleteTopics", 4, {"TopicNames": [topic], "TimeoutMs": 10_000})
                c.socket.settimeout(0.001 * number)
                try:
                    c.socket.recv(1)
                except (TimeoutError, BlockingIOError):
                    pass
                broker.kill()
            broker.start()
            with raw.Connection(broker) as c:
                exists = topic in {t["Name"] for t in c.call("Metadata", 9, {"Topics": None})["Topics"]}
            folders = lambda: [p.name for p in broker.data.iterdir() if p.name.startswith(topic)]
            until(lambda: len(folders()) == (60 if exists else 0), f"the folders agree with the cluster: {folders()[:3]}")
            assert not [name for name in folders() if name.endswith("-stray")]
        assert [r[4] for r in dump("librdkafka", broker, kept)] == ["v"]
    finally:
        broker.kill()
