"""kcat behind the verbs that every client of the compatibility tests offers."""

import json
import os
import re
import subprocess
import sys
import threading

from wire import Digest, session, text

KEY, END = "\x1f", "\n"


def produce(bootstrap, topic, codec, extra="message.max.bytes=1000000"):
    """kcat sets headers per call and not per record, so rows of equal headers go in one call."""
    runs = []
    for line in sys.stdin:
        row = json.loads(line)
        headers = row[2] if len(row) > 2 else []
        if not runs or runs[-1][0] != headers:
            runs.append((headers, []))
        runs[-1][1].append((row[0] or "") + KEY + (row[1] or "") + END)
    acked = 0
    for headers, lines in runs:
        command = ["kcat", "-b", bootstrap, "-P", "-t", topic, "-z", codec, "-K", KEY, "-Z", "-X", "acks=all", "-X", "partitioner=murmur2_random", "-X", extra, "-e"]
        for name, value in headers:
            command += ["-H", name if value is None else f"{name}={value}"]
        subprocess.run(command, input="".join(lines), text=True, check=True)
        acked += len(lines)
    print(json.dumps({"acked": acked, "failed": 0}))


def rows(bootstrap, topic):
    """Reads the binary form: partition, offset, timestamp, then sizes and bytes of headers, key and value."""
    command = ["kcat", "-b", bootstrap, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%p %o %T %K %S %h\\n%k%s\\n"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    out = process.stdout
    while True:
        head = out.readline()
        if not head:
            break
        partition, offset, timestamp, key_size, value_size, headers = head.decode().rstrip("\n").split(" ", 5)
        key = None if key_size == "-1" else out.read(int(key_size))
        value = None if value_size == "-1" else out.read(int(value_size))
        out.read(1)
        pairs = [pair.partition("=") for pair in headers.split(",") if pair]
        yield int(partition), int(offset), int(timestamp), key, value, [[n, None if v == "NULL" else v] for n, _, v in pairs]
    if process.wait() != 0:
        raise RuntimeError("kcat failed")


def read(bootstrap, topic, dump):
    listing = json.loads(subprocess.run(["kcat", "-b", bootstrap, "-L", "-J", "-t", topic], capture_output=True, text=True, check=True).stdout)
    digests = {p["partition"]: Digest() for p in listing["topics"][0]["partitions"]}
    for partition, offset, timestamp, key, value, headers in rows(bootstrap, topic):
        if dump:
            print(json.dumps([partition, offset, timestamp, text(key), text(value), headers]))
        else:
            digests[partition].add(offset, key, value)
    if not dump:
        print(json.dumps({str(p): d.result() for p, d in digests.items()}))


def say(line):
    """One line in one piece, whichever thread says it."""
    os.write(1, line.encode() + b"\n")


def group(bootstrap, topic, name, mode, instance=""):
    """kcat commits by itself, and says on its standard error what it was assigned."""

    def records():
        # kcat writes a line piece by piece, and what it was assigned must not get in between.
        for line in process.stdout:
            say(line.rstrip("\n"))

    strategy = "cooperative-sticky" if mode == "cooperative" else "range"
    command = ["kcat", "-b", bootstrap, "-G", name, "-f", "record %p %o\\n", "-u"]
    settings = {
        "partition.assignment.strategy": strategy, "auto.offset.reset": "earliest", "session.timeout.ms": "45000" if instance else "10000",
        "heartbeat.interval.ms": "500", "auto.commit.interval.ms": "200", "group.instance.id": instance}
    for key, value in settings.items():
        command += ["-X", f"{key}={value}"] if value else []
    process = subprocess.Popen(command + [topic], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    reader = threading.Thread(target=records)
    reader.start()
    threading.Thread(target=lambda: (sys.stdin.read(), process.terminate()), daemon=True).start()
    own = set()
    for line in process.stderr:
        change = re.search(r"rebalanced \(memberid [^)]*\): (.*)", line)
        if change is None:
            print(line, end="", file=sys.stderr)
            continue
        partitions = {int(p) for p in re.findall(r"\[(\d+)\]", change[1])}
        if "revoked" in change[1]:
            own -= partitions
        else:
            own = own | partitions if mode == "cooperative" else partitions
        say(f"assigned {sorted(own)}")
    process.wait()
    reader.join()
    say("closed")


def admin(bootstrap):
    """kcat can list topics and ask for offsets by time."""

    def kcat(*args):
        return subprocess.run(["kcat", "-b", bootstrap, *args], capture_output=True, text=True, check=True).stdout

    def listing(*args):
        return json.loads(kcat("-L", "-J", *args))["topics"]

    def partitions(topic):
        (found,) = listing("-t", topic)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [p["partition"] for p in found["partitions"]]

    def times(topic, at):
        lines = kcat("-Q", *[word for p in partitions(topic) for word in ("-t", f"{topic}:{p}:{at}")])
        return {p: int(offset) for p, offset in re.findall(r"\[(\d+)\] offset (-?\d+)", lines)}

    session({"topics": lambda: [t["topic"] for t in listing()], "describe": lambda topic: len(partitions(topic)), "times": times})


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "digest" or verb == "dump":
        read(*args, verb == "dump")
    else:
        {"produce": produce, "group": group, "admin": admin}[verb](*args)
