"""The brokers that are compared, each on the brokers' core."""

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from bench import settings
from harness.broker import Broker, free_port
from harness.kafka import Kafka

COMMON = {"log.initial.task.delay.ms": "1000", "log.retention.check.interval.ms": "300", "group.initial.rebalance.delay.ms": "0"}


def on_broker_core():
    os.sched_setaffinity(0, {settings.BROKER_CORE})
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Dohle(Broker):
    """The build of DOHLE_BIN."""

    name = "dohle"
    binary = os.environ.get("DOHLE_BIN", "")

    def command(self):
        return [self.binary] + super().command()[1:]


class Base(Dohle):
    """Another build, to compare with."""

    name = "base"
    binary = os.environ.get("BENCH_BASE_BIN", "")


class BenchKafka(Kafka):
    """Apache Kafka with the options of its own start script."""

    name = "kafka"
    jvm = ["-Xms1G", "-Xmx1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
           "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"]


class Tansu(Broker):
    """Tansu with its store in memory: nothing it was given outlives it."""

    name = "tansu"
    binary = os.environ.get("TANSU_BIN", "")

    def command(self):
        self.data.mkdir(exist_ok=True)
        url = f"tcp://{self.bootstrap}"
        return [self.binary, "broker", "--cluster-id", "bench", "--listener-url", url, "--advertised-listener-url", url,
                "--storage-engine", "memory://bench/"]


# For a broker that is frozen while another one is measured: it must not be taken for dead then.
FREEZABLE = {"kafka": {"broker_session_timeout_ms": 3_600_000}}
KINDS = {kind.name: kind for kind in (Dohle, Base, BenchKafka, Tansu)}
_number = 0


def start(name, **extra):
    """A new broker of that kind in a folder of its own."""
    global _number
    _number += 1
    folder = settings.DIR / f"{name}-{os.getpid()}-{_number}"
    lines = dict(COMMON, **{key.replace("_", "."): str(value) for key, value in extra.items()})
    broker = KINDS[name](folder, free_port(), lines)
    broker.preexec = on_broker_core
    return broker.start()


class Floor:
    """The load client's own server, which does the least that can be done for a request."""

    name = "floor"

    def __init__(self, records, size):
        self.bootstrap = f"127.0.0.1:{free_port()}"
        command = [str(settings.LOAD), "floor", "--boot", self.bootstrap, "--path", str(settings.DIR),
                   "--records", str(records), "--bytes", str(size)]
        self.process = subprocess.Popen(command, preexec_fn=on_broker_core)

    def __enter__(self):
        host, port = self.bootstrap.split(":")
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
                return self
            time.sleep(0.01)
        raise RuntimeError("the floor does not answer")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def log_tail(self):
        return ""


def end(broker):
    """Ends a broker and removes its folder."""
    broker.kill()
    shutil.rmtree(broker.folder, ignore_errors=True)


def freeze(broker):
    broker.process.send_signal(signal.SIGSTOP)


def thaw(broker):
    broker.process.send_signal(signal.SIGCONT)


def version(name):
    """What a broker calls itself."""
    if name == "kafka":
        jars = sorted((settings.WORK / "java" / "libs").glob("kafka_2.13-*.jar"))
        java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr.splitlines()
        return f"Apache Kafka {jars[-1].stem.removeprefix('kafka_2.13-') if jars else '?'} ({java[0] if java else 'java ?'})"
    done = subprocess.run([KINDS[name].binary, "--version"], capture_output=True, text=True)
    return done.stdout.strip().replace("dohle", "Dohle").replace("tansu", "Tansu")


def cpu_seconds(broker):
    """CPU seconds of the broker's process since exec, those of ended threads too."""
    return time.clock_gettime((~broker.process.pid << 3) | 2)


def open_files(broker):
    """Descriptors that lead to files of the data folder, and mapped ones."""
    folder, pid = str(broker.data.resolve()), broker.process.pid
    count = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += os.readlink(link).startswith(folder)
        except OSError:
            pass
    maps = Path(f"/proc/{pid}/maps").read_text()
    return count, sum(folder in line for line in maps.splitlines())


def evict(broker, topic):
    """Writes a topic's segments out and drops them from the page cache."""
    for path in broker.data.glob(f"{topic}-*/*.log"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
