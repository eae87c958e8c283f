"""A Kafka Connect worker in distributed mode, and its REST interface."""

import json
import urllib.error
import urllib.request

from harness.broker import free_port
from harness.programs import Program, jvm
from harness.wait import until

TOPICS = ("configs", "offsets", "statuses")


class Worker(Program):
    """One worker of the cluster `name`, whose three topics are `name-configs`, `name-offsets` and `name-statuses`."""

    def __init__(self, folder, broker, name, **settings):
        self.port = free_port()
        lines = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": name,
            "config.storage.topic": f"{name}-configs",
            "offset.storage.topic": f"{name}-offsets",
            "status.storage.topic": f"{name}-statuses",
            "config.storage.replication.factor": 1,
            "offset.storage.replication.factor": 1,
            "status.storage.replication.factor": 1,
            "offset.storage.partitions": 3,
            "status.storage.partitions": 2,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.flush.interval.ms": 500,
            # What a killed worker leaves behind is given up after these times.
            "session.timeout.ms": 6000,
            "scheduled.rebalance.max.delay.ms": 500,
            "heartbeat.interval.ms": 1000,
            "consumer.session.timeout.ms": 6000,
            "producer.transaction.timeout.ms": 6000,
            "consumer.isolation.level": "read_committed",
            "listeners": f"http://127.0.0.1:{self.port}",
            "plugin.discovery": "service_load",
        }
        lines.update({key.replace("_", "."): value for key, value in settings.items()})
        config = folder / f"{name}.properties"
        config.write_text("".join(f"{k}={v}\n" for k, v in lines.items()))
        super().__init__(folder, name, jvm("connect", "org.apache.kafka.connect.cli.ConnectDistributed", str(config)))

    def start(self):
        super().start()
        until(lambda: self._ready(), "the worker answers", 180)
        return self

    def _ready(self):
        self.check()
        try:
            return self.ask("GET", "/connectors") is not None
        except (OSError, AssertionError):
            return False

    def ask(self, method, path, body=None):
        """One request; the answer is decoded JSON."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                text = answer.read()
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{method} {path}: {refused.code} {refused.read().decode()}\n{self.tail()}") from None
        return json.loads(text) if text else {}

    def configure(self, connector, **settings):
        """Creates a connector or changes it; settings take `_` for `.`."""
        self.ask("PUT", f"/connectors/{connector}/config", {k.replace("_", "."): str(v) for k, v in settings.items()})

    def runs(self, connector):
        """Whether the connector and its task run; a task that failed fails the test with its reason."""
        try:
            status = self.ask("GET", f"/connectors/{connector}/status")
        except (OSError, AssertionError):
            return False
        for part in (status["connector"], *status["tasks"]):
            assert part["state"] != "FAILED", f"{connector}: {part.get('trace')}"
        return status["connector"]["state"] == "RUNNING" and [t["state"] for t in status["tasks"]] == ["RUNNING"]

    def halt(self, connector):
        """Stops a connector, so that its offsets may be changed."""
        self.ask("PUT", f"/connectors/{connector}/stop")
        stopped = lambda: self.ask("GET", f"/connectors/{connector}/status")
        until(lambda: (now := stopped())["connector"]["state"] == "STOPPED" and not now["tasks"], f"{connector} is stopped")

    def offsets(self, connector):
        return self.ask("GET", f"/connectors/{connector}/offsets")["offsets"]
