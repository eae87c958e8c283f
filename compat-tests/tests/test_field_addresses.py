"""Field reports F01 (an advertised address nobody can reach) and F02 (localhost is two addresses).

The settings alone, what they refuse and in which words, are tested in `src/config/listener.rs`, the address of each
listener in every version of each answer in `src/broker/tests/meta.rs`, what is printed at start in `tests/start.rs`.
Here real clients go through each listener.
"""

import json
import os
import subprocess

import pytest

from harness.broker import Broker, free_port
from harness.clients import COMMANDS, dump, produce
from harness.kafka import Kafka
from harness.raw import Connection
from harness.wait import until

ON_KAFKA = os.environ.get("COMPAT_BROKER") == "kafka"
NODE = Kafka if ON_KAFKA else Broker
CLIENTS = ["java", "kafkajs", "franz-go", "kafka-python", "librdkafka"]
# kafkajs takes an address apart at its first colon, so it cannot be given a literal in brackets.
LITERALS = [client for client in CLIENTS if client != "kafkajs"]
OURS = pytest.mark.skipif(ON_KAFKA, reason="better than Kafka, or about our own defaults")


class At:
    """A place where clients begin."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap


def listed(bootstrap, *command):
    """What kcat is told about the brokers; no error may be among what it says."""
    done = subprocess.run([*command, "kcat", "-L", "-J", "-b", bootstrap, "-X", "log.connection.close=true"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "ERROR" not in done.stderr and "FAIL" not in done.stderr, done.stderr
    return [b["name"] for b in json.loads(done.stdout)["brokers"]]


@pytest.mark.parametrize("host", ["0.0.0.0", pytest.param("[::]", marks=OURS)])
def test_a_wildcard_alone_stops_the_start_with_a_line_that_says_what_to_set(folder, host):
    node = NODE(folder, free_port(), {"listeners": f"PLAINTEXT://{host}:{free_port()}"})
    if ON_KAFKA:
        node.data.mkdir()
        (node.data / "meta.properties").write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\nnode.id=1\n")
    done = subprocess.run(node.command(), capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "advertised.listeners" in said, said
    if not ON_KAFKA:
        assert len(done.stderr.strip().splitlines()) == 1, f"not one line: {done.stderr}"
        assert "set for instance advertised.listeners=PLAINTEXT://" in said, said


def test_without_a_host_the_machines_name_is_told_and_clients_reach_it(folder):
    port = free_port()
    node = NODE(folder, port, {"listeners": f"PLAINTEXT://:{port}"}).start()
    try:
        (told,) = listed(node.bootstrap)
        host, _, at = told.rpartition(":")
        assert at == str(port) and host not in ("", "0.0.0.0", "::", "[::]"), told
        if not ON_KAFKA:
            assert f"clients  {told} (PLAINTEXT" in node.log_text(), "the name in use is printed at start"
        produce("kafkajs", At(told), "named", "none", [["k", "v"]])
        assert [r[4] for r in dump("java", At(told), "named")] == ["v"]
    finally:
        node.kill()


def with_listeners(folder, listeners):
    """A node with these listeners, by name: where each listens, and what it tells."""
    first = next(iter(listeners))
    return NODE(folder, int(listeners[first][0].rpartition(":")[2]), {
        "listeners": ",".join(f"{name}://{at}" for name, (at, _told) in listeners.items()),
        "advertised.listeners": ",".join(f"{name}://{told}" for name, (_at, told) in listeners.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in (*listeners, "CONTROLLER")),
        "inter.broker.listener.name": first,
    }).start()


def test_each_of_two_listeners_gives_its_own_address_to_every_client(folder):
    inside, outside = free_port(), free_port()
    told = {f"127.0.0.1:{inside}": f"localhost:{inside}", f"127.0.0.2:{outside}": f"127.0.0.2:{outside}"}
    node = with_listeners(folder, dict(zip(("INSIDE", "OUTSIDE"), told.items())))
    try:
        for entry, expected in told.items():
            assert listed(entry) == [expected]
            host, _, port = expected.rpartition(":")
            with Connection(node, address=entry) as c:
                answer = c.call("DescribeCluster", 0, {})
                assert [(b["Host"], b["Port"]) for b in answer["Brokers"]] == [(host, int(port))], answer
                find = lambda: c.call("FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": ["g"]})["Coordinators"][0]
                found = until(lambda: (f := find())["ErrorCode"] == 0 and f, "the coordinator is there")
                assert (found["Host"], found["Port"]) == (host, int(port)), found
        count = 0
        for client in CLIENTS:
            for entry in told:
                produce(client, At(entry), "both", "none", [[None, f"{client} {entry}"]])
                count += 1
        for number, client in enumerate(CLIENTS):
            entry = list(told)[number % 2]
            assert len(dump(client, At(entry), "both")) == count, f"{client} through {entry}"
    finally:
        node.kill()


@OURS
def test_localhost_and_both_its_addresses_work_by_default(folder):
    port = free_port()
    node = Broker(folder, port, {"listeners": f"PLAINTEXT://localhost:{port}"}).start()
    try:
        count = 0
        for host, clients in (("localhost", CLIENTS), ("127.0.0.1", ["kcat", "franz-go"]), ("[::1]", LITERALS)):
            assert listed(f"{host}:{port}") == [f"localhost:{port}"]
            for client in clients:
                done = subprocess.run(
                    COMMANDS[client] + ["produce", f"{host}:{port}", "local", "none"], input='["k", "v"]\n',
                    capture_output=True, text=True, timeout=60)
                assert done.returncode == 0, f"{client} at {host}: {done.stderr}"
                quiet = [line for line in done.stderr.splitlines() if "ERROR" in line or "FAIL" in line]
                assert not quiet, f"{client} at {host}: {quiet}"
                count += 1
        assert len(dump("franz-go", At(f"[::1]:{port}"), "local")) == count
    finally:
        node.kill()


def test_an_ipv6_literal_is_bound_told_without_brackets_and_used(folder):
    four, six = free_port(), free_port()
    node = with_listeners(folder, {"FOUR": (f"127.0.0.1:{four}",) * 2, "SIX": (f"[::1]:{six}",) * 2})
    try:
        with Connection(node, address=f"[::1]:{six}") as c:
            hosts = [(b["Host"], b["Port"]) for b in c.call("Metadata", 9, {"Topics": []})["Brokers"]]
        assert hosts == [("::1", six)]
        for client in LITERALS:
            produce(client, At(f"[::1]:{six}"), "six", "none", [[None, client]])
        for client in LITERALS:
            assert len(dump(client, At(f"[::1]:{six}"), "six")) == len(LITERALS), client
    finally:
        node.kill()


@OURS
def test_a_host_without_ipv6_is_no_failure(folder):
    port = free_port()
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    bare = ["unshare", *user, "--net", "sh", "-c", 'ip link set lo up && sysctl -qw net.ipv6.conf.all.disable_ipv6=1 && "$@"', "sh"]
    if subprocess.run([*bare, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine lets us make no network namespace")
    node = Broker(folder, port, {"listeners": f"PLAINTEXT://localhost:{port}"})
    script = '"$0" --config "$1" & broker=$!; trap "kill $broker" EXIT; for i in $(seq 200); do kcat -q -L -J -b localhost:$2 2>/dev/null && exit 0; sleep 0.05; done; exit 1'
    node.command()
    done = subprocess.run(
        [*bare, "sh", "-c", script, os.environ["DOHLE_BIN"], str(folder / "server.properties"), str(port)],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f'"name":"localhost:{port}"' in done.stdout, done.stdout
    assert "ERROR" not in done.stderr and "WARN" not in done.stderr, done.stderr
