"""The clients under test: each offers produce, dump, digest and admin, and most offer group."""

import json
import queue
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
WORK = HERE / ".work"
PYTHON = str(WORK / "venv" / "bin" / "python")
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
JAVA_OPTIONS = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
JAVA = ["java", *JAVA_OPTIONS, "-cp", f"{WORK}/java/libs/*:{WORK}/java/classes"]


def java(line):
    """A line of the Java client without its log, which would go between its answers."""
    return ["java", *JAVA_OPTIONS, "-Dlog4j2.level=OFF", "-cp", f"{WORK}/{line}/libs/*:{WORK}/{line}/classes", "dohle.Client"]


def python(name):
    return [PYTHON, str(HERE / f"clients/python/{name}_client.py")]


def modern_node():
    """@platformatic/kafka asks for a newer Node than many systems have; it comes as a package."""
    found = list((WORK / "node/node_modules").glob("node-linux-*/bin/node"))
    return str(found[0]) if found else "node"


# What admin sessions can do; a client has some of these.
TOPICS = {"create", "topics", "describe", "delete"}
CONFIGS = {"configs", "alter"}
GROUPS = {"groups", "group", "forget"}
ALL = TOPICS | CONFIGS | GROUPS | {"grow", "truncate", "times", "committed", "commit"}
# The shapes of headers that a client can write, or read as they are: see tests/test_clients.py.
SHAPES = {"plain", "empty", "null", "repeated", "unnamed", "many"}


@dataclass(frozen=True)
class Client:
    """What a client is and what it can do; a test that needs something else is not asked of it."""

    version: str
    command: list
    admin: frozenset
    idempotent: str | None = None  # the argument of produce that asks for idempotence; None: it has none
    modes: tuple = ()  # the modes of groups that it has
    shares_with: tuple = ("librdkafka", "franz-go", "sarama")  # those whose subscriptions it can read
    static: bool = False  # whether it has static membership
    writes: frozenset = frozenset(SHAPES)
    reads: frozenset = frozenset(SHAPES)
    writes_empty: bool = True  # whether it can write an empty key or value, and not null in its place
    reads_empty: bool = True  # whether it tells an empty key or value from null
    transacts: bool = False  # whether it has transactions
    ends_for_none: bool = False  # whether it says the end of a partition where no record is as late as asked


BOTH = ("eager", "cooperative")
CLIENTS = {
    "java": Client("4.4.0", java("java"), ALL, "enable.idempotence=true", BOTH, static=True, transacts=True),
    "java-3.9": Client("3.9.2", java("java-3.9"), ALL, "enable.idempotence=true", BOTH, static=True, transacts=True),
    "java-2.8": Client("2.8.2", java("java-2.8"), ALL, "enable.idempotence=true", BOTH, static=True, transacts=True),
    "librdkafka": Client("2.16.1", python("confluent"), ALL, "enable.idempotence=true", BOTH, static=True, transacts=True),
    "kcat": Client("1.7.1", python("kcat"), {"topics", "describe", "times"}, "enable.idempotence=true", ("eager",), static=True,
                   writes=SHAPES - {"unnamed", "many"}, reads=SHAPES - {"empty"}, writes_empty=False),
    "franz-go": Client("1.22.3", [f"{WORK}/go/franz"], ALL, "", BOTH, static=True, transacts=True, ends_for_none=True),
    "sarama": Client("1.61.1", [f"{WORK}/go/sarama"], ALL, "idempotent", ("eager",), static=True),
    "kafka-go": Client("0.4.51", [f"{WORK}/go/kafkago"], ALL - {"truncate"}, None, ("eager",),
                       reads=SHAPES - {"empty"}, reads_empty=False, shares_with=("aiokafka", "kafkajs")),
    "kafka-python": Client("3.0.12", python("kafka_python"), ALL, "idempotent", BOTH, static=True, transacts=True, writes=SHAPES - {"null"}),
    "aiokafka": Client("0.14.0", python("aiokafka"), ALL - {"commit", "forget"}, "idempotent", ("eager",), static=True, transacts=True),
    "kafkajs": Client("2.2.4", ["node", f"{WORK}/node/kafkajs.js"], ALL, "idempotent", ("eager",), transacts=True,
                      writes=SHAPES - {"null"}, reads=SHAPES - {"null", "many"}, ends_for_none=True),
    "platformatic": Client("2.12.1", [modern_node(), f"{WORK}/node/platformatic.js"], ALL, "idempotent", BOTH, static=True),
    "rskafka": Client("0.6.0", [f"{WORK}/rust/debug/dohle-compat-rskafka"], TOPICS | {"truncate", "times"},
                      writes=frozenset({"plain", "empty", "unnamed"}), reads=frozenset({"plain", "empty", "unnamed"})),
}
COMMANDS = {name: client.command for name, client in CLIENTS.items()}


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


def dump(client, broker, topic, *isolation):
    """All records of a topic as [partition, offset, timestamp, key, value, headers], by partition and offset;
    librdkafka leaves out what is not committed when it is told `read_committed`."""
    rows = [json.loads(line) for line in run(client, "dump", broker.bootstrap, topic, *isolation).splitlines() if line]
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


class Refused(AssertionError):
    """What a client says of a command that did not succeed."""


class Session:
    """An admin session as a process of its own: a command goes in as one line, its answer comes out as one."""

    def __init__(self, client, broker, verb="admin", *args):
        self.client = client
        self.process = subprocess.Popen(
            COMMANDS[client] + [verb, broker.bootstrap, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def ask(self, *command):
        """The answer of a command; fails with what the client says."""
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        try:
            line = self.answers.get(timeout=90)
        except queue.Empty:
            raise AssertionError(f"{self.client} does not answer {command}") from None
        assert line is not None, f"{self.client} ended at {command}"
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(f"{self.client} {command}: {answer['error']}")
        return answer["ok"]

    def offsets(self, *command):
        """An answer of offsets by partition."""
        return {int(p): offset for p, offset in self.ask(*command).items()}

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()


class Transactions(Session):
    """A transactional producer of a client."""

    def __init__(self, client, broker, name, timeout_ms=60000):
        super().__init__(client, broker, "transactions", name, str(timeout_ms))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait(20)

    def write(self, topic, values, how="commit"):
        """One whole transaction: each value goes into both partitions."""
        self.ask("begin")
        for value in values:
            for partition in (0, 1):
                self.ask("send", topic, partition, value)
        self.ask("flush")
        if how:
            self.ask(how)


def committed(client, broker, topic, last):
    """The values of a topic's committed records by partition, in order; `last` stands at the end of each."""
    return {int(p): values for p, values in json.loads(run(client, "committed", broker.bootstrap, topic, last)).items()}
