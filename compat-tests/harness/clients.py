"""The clients under test: each offers produce, dump, digest, and most offer group."""

import json
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
WORK = HERE / ".work"
PYTHON = str(WORK / "venv" / "bin" / "python")
JAVA = ["java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{WORK}/java/libs/*:{WORK}/java/classes"]
COMMANDS = {
    "java": JAVA + ["dohle.Client"],
    "librdkafka": [PYTHON, str(HERE / "clients/python/confluent_client.py")],
    "kafka-python": [PYTHON, str(HERE / "clients/python/kafka_python_client.py")],
    "kafkajs": ["node", str(WORK / "node/client.js")],
    "franz-go": [str(WORK / "franz")],
    "kcat": [PYTHON, str(HERE / "clients/python/kcat_client.py")],
}
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def run(client, verb, *args, stdin="", timeout=300):
    """Runs one verb of a client to its end and returns what it printed."""
    done = subprocess.run(COMMANDS[client] + [verb, *args], input=stdin, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{client} {verb}: {done.stderr[-3000:]}"
    return done.stdout


def produce(client, broker, topic, codec, rows, *extra, timeout=300):
    """Sends rows of (key, value[, headers]) and checks that every one was acknowledged."""
    lines = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
    answer = json.loads(run(client, "produce", broker.bootstrap, topic, codec, *extra, stdin=lines, timeout=timeout))
    assert answer["failed"] == 0, answer
    assert answer["acked"] == lines.count("\n"), answer


def dump(client, broker, topic):
    """All records of a topic as [partition, offset, timestamp, key, value, headers], by partition and offset."""
    rows = [json.loads(line) for line in run(client, "dump", broker.bootstrap, topic).splitlines() if line]
    return sorted(rows, key=lambda row: row[:2])


def digest(client, broker, topic, timeout=300):
    """Count and checksum of each partition."""
    return json.loads(run(client, "digest", broker.bootstrap, topic, timeout=timeout))


class Member:
    """A consumer of a group as a process of its own; ends in good order when its input closes."""

    def __init__(self, client, broker, topic, group, mode="eager", instance=""):
        self.client = client
        self.records = []
        self.assigned = None
        self.process = subprocess.Popen(
            COMMANDS[client] + ["group", broker.bootstrap, topic, group, mode] + ([instance] if instance else []),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "assigned":
                self.assigned = json.loads(rest)
            elif word == "record":
                self.records.append(tuple(map(int, rest.split())))

    def check(self):
        """Fails with what the member said when it ended by itself."""
        assert self.process.poll() is None, f"{self.client} ended: {self.process.stderr.read()[-2000:]}"

    def leave(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.reader.join(10)
        errors = self.process.stderr.read()
        assert self.process.returncode == 0, f"{self.client}: {errors[-2000:]}"

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        self.reader.join(10)
