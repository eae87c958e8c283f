"""Starts, kills and restarts the broker under test as a process of its own."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

PEERS = Path(os.environ.get("COMPAT_PEERS", Path(__file__).resolve().parents[3] / "shared" / "peers"))
_next = 0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    """Whether the broker answers one Metadata request."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as s:
            s.sendall(b"\0\0\0\x14\0\3\0\4\0\0\0\1\0\5probe\0\0\0\0\0")
            s.settimeout(2)
            return len(s.recv(16)) > 8
    except OSError:
        return False


class Broker:
    """A running broker; `bootstrap` is where clients go."""

    preexec = None

    def __init__(self, folder, port, settings):
        self.folder = Path(folder)
        self.port = port
        self.settings = dict(settings)
        self.process = None
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    @property
    def data(self):
        return self.folder / "data"

    def command(self):
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "100",
            "dohle.admin.listeners": "",
        }
        lines.update(pair.split("=", 1) for pair in os.environ.get("COMPAT_SETTINGS", "").split(";") if pair)
        lines.update(self.settings)
        if os.environ.get("COMPAT_BROKER") == "kafka":
            skip = ("process.roles", "node.id", "listeners", "log.dirs", "dohle.admin.listeners", "dohle.metrics.partitions.max")
            return [str(PEERS / "kafka-broker"), "run", str(self.folder), str(self.port)] + [
                f"{k}={v}" for k, v in lines.items() if k not in skip
            ]
        config = self.folder / "server.properties"
        config.write_text("".join(f"{k}={v}\n" for k, v in lines.items()))
        return [os.environ["DOHLE_BIN"], "--config", str(config)]

    def spawn(self):
        """Starts the process and does not wait for it."""
        command = self.command()
        self.log = open(self.folder / "broker.log", "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=self.preexec)

    def start(self):
        self.spawn()
        return self.wait()

    def wait(self):
        """Waits until the process answers."""
        limit = time.monotonic() + 180
        while not answers(self.port):
            assert self.process.poll() is None, f"the broker ended: {self.log_tail()}"
            assert time.monotonic() < limit, f"the broker is not ready: {self.log_tail()}"
            time.sleep(0.02)
        return self

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self):
        """Asks for an orderly stop and returns the exit code."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        finally:
            self.kill()

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)
        self.log.close()

    def restart(self):
        self.stop()
        return self.start()

    def rss_mib(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("no VmRSS")

    def log_text(self):
        return (self.folder / "broker.log").read_text(errors="replace")

    def log_tail(self):
        return self.log_text()[-2000:]


def start(folder, **settings):
    """A new broker in `folder`; further arguments are settings with `_` for `.`."""
    return Broker(folder, free_port(), {k.replace("_", "."): v for k, v in settings.items()}).start()
