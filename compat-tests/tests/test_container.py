"""How images are started: the script of docker/kafka in a plain folder tree, as test libraries call it."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from harness.admin import admin
from harness.broker import answers, free_port
from harness.wait import until

pytestmark = pytest.mark.skipif(os.environ.get("COMPAT_BROKER") == "kafka", reason="starts our program")

DOCKER = Path(__file__).resolve().parents[2] / "docker"
READY = ("[KafkaServer id=1] started", "Kafka Server started", "Transitioning from RECOVERY to RUNNING")


class Tree:
    """The parts of the image's file system that matter, below a folder."""

    def __init__(self, root):
        self.root = root
        shutil.copytree(DOCKER / "kafka", root / "etc/kafka/docker")
        for folder in ("usr/local/bin", "var/lib/kafka/data", "mnt/shared/config", "tmp"):
            (root / folder).mkdir(parents=True)
        (root / "usr/local/bin/dohle").symlink_to(Path(os.environ["DOHLE_BIN"]).resolve())
        self.port = free_port()
        self.admin = free_port()
        self.process = None
        self.bootstrap = f"127.0.0.1:{self.port}"

    def start(self, *command, **variables):
        """Runs a command as a container does, with few variables; says what it printed once it is ready."""
        environment = {"PATH": os.environ["PATH"], "KAFKA_DOHLE_ADMIN_LISTENERS": f"127.0.0.1:{self.admin}"}
        self.output = open(self.root / "output", "w+b")
        self.process = subprocess.Popen(
            command or [self.root / "etc/kafka/docker/run"], cwd=self.root, env=environment | variables,
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def said(self):
        return (self.root / "output").read_text()

    def until_ready(self):
        def ready():
            assert self.process.poll() is None, self.said()
            return any(all(text in line for text in READY) for line in self.said().splitlines())
        until(ready, "one line has all that test libraries wait for", seconds=30)
        assert answers(self.port)
        return self

    def end(self):
        if self.process is not None and self.process.poll() is None:
            # The shell that a test library starts has the broker as its child.
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.output.close()


@pytest.fixture
def tree(folder):
    tree = Tree(folder / "root")
    yield tree
    tree.end()


def test_a_test_library_starts_it_through_a_script_that_comes_later(tree):
    script = tree.root / "tmp/start.sh"
    tree.start("sh", "-c", f"while [ ! -f {script} ]; do sleep 0.1; done; {script}",
               KAFKA_LISTENERS=f"PLAINTEXT://127.0.0.1:{tree.port},BROKER://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
               KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
               KAFKA_INTER_BROKER_LISTENER_NAME="BROKER", KAFKA_PROCESS_ROLES="broker,controller",
               KAFKA_CONTROLLER_LISTENER_NAMES="CONTROLLER", KAFKA_CONTROLLER_QUORUM_VOTERS="1@localhost:9094",
               KAFKA_NODE_ID="1", CLUSTER_ID="4L6g3nShT-eMCtK--X86sw", KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR="1",
               KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS="1", KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR="1",
               KAFKA_TRANSACTION_STATE_LOG_MIN_ISR="1", KAFKA_LOG_FLUSH_INTERVAL_MESSAGES="9223372036854775807",
               KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS="0", KAFKA_HEAP_OPTS="-Xmx256m")
    script.with_suffix(".new").write_text(
        f"#!/bin/sh\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:{tree.port},BROKER://127.0.0.1:1\n"
        f"exec {tree.root}/etc/kafka/docker/run\n")
    script.with_suffix(".new").chmod(0o755)
    script.with_suffix(".new").rename(script)
    tree.until_ready()
    assert admin(tree).list_topics(timeout=10).cluster_id == "4L6g3nShT-eMCtK--X86sw"
    assert (tree.root / "var/lib/kafka/data/meta.properties").exists()


def test_listeners_follow_from_what_clients_are_told(tree):
    tree.start(KAFKA_ADVERTISED_LISTENERS=f"PLAINTEXT://localhost:{tree.port}").until_ready()
    assert f"listens on 0.0.0.0:{tree.port}" in tree.said()
    known = admin(tree).list_topics(timeout=10)
    assert known.cluster_id == "5L6g3nShT-eMCtK--X86sw"
    assert [(b.host, b.port) for b in known.brokers.values()] == [("localhost", tree.port)]


def test_a_mounted_file_counts_and_variables_count_over_it(tree):
    (tree.root / "mnt/shared/config/server.properties").write_text(
        f"listeners=PLAINTEXT://127.0.0.1:{tree.port}\nlog.dirs={tree.root}/elsewhere\nnum.partitions=3\nnode.id=5\n")
    tree.start(KAFKA_NODE_ID="1").until_ready()
    assert (tree.root / "elsewhere/meta.properties").exists()
    assert not (tree.root / "var/lib/kafka/data/meta.properties").exists()


def test_the_health_check_says_yes_while_clients_are_served(tree):
    check = [tree.root / "etc/kafka/docker/ready", f"127.0.0.1:{tree.admin}"]
    assert subprocess.run(check, capture_output=True).returncode != 0
    tree.start(KAFKA_ADVERTISED_LISTENERS=f"PLAINTEXT://localhost:{tree.port}").until_ready()
    assert subprocess.run(check, capture_output=True).returncode == 0
    tree.process.terminate()
    assert tree.process.wait(30) == 0
    assert subprocess.run(check, capture_output=True).returncode != 0


def test_the_recipe_names_files_that_exist():
    recipe = (DOCKER / "Dockerfile").read_text()
    assert "USER appuser" in recipe and "HEALTHCHECK" in recipe
    assert (DOCKER.parent / "docker/kafka/run").exists() and "COPY docker/kafka/ /etc/kafka/docker/" in recipe
    compose = (DOCKER / "compose.yml").read_text()
    for mounted in [line.split("- ", 1)[1].split(":")[0] for line in compose.splitlines() if ":ro" in line]:
        assert (DOCKER / mounted).exists(), mounted
