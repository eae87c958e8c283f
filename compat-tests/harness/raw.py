"""Requests by hand, for what no client library sends: any API at any version, over a plain socket.

The layouts are read from the message schemas that kafka-python is installed with. Records are made and read by
hand, and every checksum is verified.
"""

import importlib.resources
import json
import re
import socket
import struct
import time

import crc32c

NUMBERS = {"bool": ">?", "int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "float64": ">d"}


def _schemas():
    requests, responses = {}, {}
    for entry in importlib.resources.files("kafka.protocol.schemas.resources").iterdir():
        if not entry.name.endswith(("Request.json", "Response.json")):
            continue
        schema = json.loads(re.sub(r"^\s*//.*$", "", entry.read_text(), flags=re.M))
        schema["structs"] = {s["name"]: s["fields"] for s in schema.get("commonStructs", [])}
        name = schema["name"]
        if name.endswith("Request"):
            requests[name.removesuffix("Request")] = schema
        else:
            responses[name.removesuffix("Response")] = schema
    return requests, responses


REQUESTS, RESPONSES = _schemas()


def _holds(versions, version):
    """Whether a range such as `3+`, `1-4`, `2` or `none` holds a version."""
    if versions in (None, "none"):
        return False
    first, _, last = versions.partition("-")
    if first.endswith("+"):
        return version >= int(first[:-1])
    return int(first) <= version <= int(last or first)


def varuint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def zigzag(number):
    return varuint((number << 1) ^ (number >> 63))


class Layout:
    """One message schema at one version."""

    def __init__(self, schema, version):
        self.schema = schema
        self.version = version
        self.flexible = _holds(schema["flexibleVersions"], version)

    def fields_of(self, field, kind):
        return field.get("fields") or self.schema["structs"][kind]

    def default(self, field):
        kind, value = field["type"], field.get("default")
        if value == "null":
            return None
        if kind.startswith("[]"):
            return []
        if kind in NUMBERS:
            return value in (True, "true") if kind == "bool" else int(str(value or 0), 0)
        return {"uuid": bytes(16), "string": value or "", "bytes": b"", "records": None}.get(kind, {})

    def sized(self, size, compact, wide=True):
        """A length; None is null."""
        if compact:
            return varuint(0 if size is None else size + 1)
        return struct.pack(">i" if wide else ">h", -1 if size is None else size)

    def encode(self, fields, values):
        unknown = set(values) - {f["name"] for f in fields}
        assert not unknown, f"{self.schema['name']} has no {unknown}"
        out, tags = bytearray(), []
        for field in fields:
            if not _holds(field["versions"], self.version):
                continue
            compact = self.flexible and field.get("flexibleVersions") != "none"
            value = values.get(field["name"], self.default(field))
            if _holds(field.get("taggedVersions"), self.version):
                if field["name"] in values:
                    tags.append((field["tag"], self.value(field, field["type"], value, compact)))
                continue
            out += self.value(field, field["type"], value, compact)
        if self.flexible:
            out += varuint(len(tags))
            for tag, content in sorted(tags):
                out += varuint(tag) + varuint(len(content)) + content
        return bytes(out)

    def value(self, field, kind, value, compact):
        if kind in NUMBERS:
            return struct.pack(NUMBERS[kind], value)
        if kind == "uuid":
            return value
        if kind.startswith("[]"):
            parts = [self.value({**field, "nullableVersions": "none"}, kind[2:], v, compact) for v in value or []]
            return self.sized(None if value is None else len(parts), compact) + b"".join(parts)
        if kind in ("string", "bytes", "records"):
            content = value.encode() if isinstance(value, str) else value
            return self.sized(None if content is None else len(content), compact, kind != "string") + (content or b"")
        if _holds(field.get("nullableVersions"), self.version):
            if value is None:
                return b"\xff"
            return b"\x01" + self.encode(self.fields_of(field, kind), value)
        return self.encode(self.fields_of(field, kind), value)

    def decode(self, fields, reader):
        out, tagged = {}, {}
        for field in fields:
            if not _holds(field["versions"], self.version):
                continue
            if _holds(field.get("taggedVersions"), self.version):
                tagged[field["tag"]] = field
                continue
            compact = self.flexible and field.get("flexibleVersions") != "none"
            out[field["name"]] = self.read(field, field["type"], reader, compact)
        if self.flexible:
            for _ in range(reader.varuint()):
                tag, content = reader.varuint(), Reader(reader.take(reader.varuint()))
                if tag in tagged:
                    out[tagged[tag]["name"]] = self.read(tagged[tag], tagged[tag]["type"], content, True)
        return out

    def read(self, field, kind, reader, compact):
        if kind in NUMBERS:
            return reader.number(NUMBERS[kind])
        if kind == "uuid":
            return reader.take(16)
        nullable = _holds(field.get("nullableVersions"), self.version)
        if kind.startswith("[]") or kind in ("string", "bytes", "records"):
            size = reader.varuint() - 1 if compact else reader.number(">h" if kind == "string" else ">i")
            if size < 0:
                assert nullable, f"{self.schema['name']}: {field['name']} is null where the schema has no null"
                return None
            if kind.startswith("[]"):
                return [self.read({**field, "nullableVersions": "none"}, kind[2:], reader, compact) for _ in range(size)]
            content = reader.take(size)
            return content.decode() if kind == "string" else content
        if nullable and reader.number(">b") < 0:
            return None
        return self.decode(self.fields_of(field, kind), reader)


class Reader:
    def __init__(self, content):
        self.content = content
        self.at = 0

    def take(self, size):
        assert 0 <= size <= len(self.content) - self.at, f"{size} bytes wanted at {self.at} of {len(self.content)}"
        self.at += size
        return self.content[self.at - size : self.at]

    def number(self, layout):
        return struct.unpack(layout, self.take(struct.calcsize(layout)))[0]

    def varuint(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def zigzag(self):
        number = self.varuint()
        return (number >> 1) ^ -(number & 1)

    def sized(self):
        size = self.zigzag()
        return None if size < 0 else self.take(size)


def request(api, version, values, correlation=1, client="raw"):
    """One framed request. `values` is a dict by field name, or the body as bytes."""
    layout = Layout(REQUESTS[api], version)
    head = struct.pack(">hhih", layout.schema["apiKey"], version, correlation, len(client)) + client.encode()
    body = values if isinstance(values, bytes) else layout.encode(layout.schema["fields"], values)
    content = head + (b"\0" if layout.flexible else b"") + body
    return struct.pack(">i", len(content)) + content


class Connection:
    """A plain socket that speaks Kafka's protocol."""

    def __init__(self, broker, timeout=30, address=None):
        host, _, port = (address or broker.bootstrap).rpartition(":")
        self.socket = socket.create_connection((host.strip("[]"), int(port)), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, api, version, values):
        self.correlation += 1
        self.socket.sendall(request(api, version, values, self.correlation))

    def take(self, size):
        out = bytearray()
        while len(out) < size:
            part = self.socket.recv(min(size - len(out), 1 << 20))
            if not part:
                raise ConnectionError("closed")
            out += part
        return bytes(out)

    def receive(self, api, version):
        reader = Reader(self.take(struct.unpack(">i", self.take(4))[0]))
        reader.number(">i")
        layout = Layout(RESPONSES[api], version)
        if layout.flexible and api != "ApiVersions":
            assert reader.varuint() == 0, "tags in the header"
        answer = layout.decode(layout.schema["fields"], reader)
        assert reader.at == len(reader.content), f"{api} v{version}: bytes behind the last field"
        return answer

    def call(self, api, version, values):
        self.send(api, version, values)
        return self.receive(api, version)

    def latest(self, api):
        """The highest version that the broker and the schemas know."""
        offered = {k["ApiKey"]: k["MaxVersion"] for k in self.call("ApiVersions", 3, {"ClientSoftwareName": "raw", "ClientSoftwareVersion": "1"})["ApiKeys"]}
        schema = REQUESTS[api]
        known = int(schema["validVersions"].partition("-")[2] or schema["validVersions"])
        return min(offered.get(schema["apiKey"], -1), known)


def batch(records, times=None, attributes=0, codec=None, producer=(-1, -1, -1)):
    """A batch of (key, value) pairs; `codec` compresses the records and `attributes` names it."""
    now = int(time.time() * 1000)
    times = times or [now] * len(records)
    body = b""
    for number, ((key, value), at) in enumerate(zip(records, times)):
        record = b"\0" + zigzag(at - times[0]) + zigzag(number)
        for part in (key, value):
            record += zigzag(-1) if part is None else zigzag(len(part)) + part
        record += zigzag(0)
        body += zigzag(len(record)) + record
    body = codec(body) if codec else body
    tail = struct.pack(">hiqqqhii", attributes, len(records) - 1, times[0], max(times), *producer, len(records)) + body
    return struct.pack(">qiibI", 0, 9 + len(tail), -1, 2, crc32c.crc32c(tail)) + tail


class Batch:
    """A stored batch; `content` are its bytes from the magic byte on."""

    def __init__(self, base, epoch, content):
        self.base, self.epoch, self.content = base, epoch, content
        checksum, self.attributes, last, self.first_time, self.max_time = struct.unpack(">Ihiqq", content[1:27])
        self.count = struct.unpack(">i", content[41:45])[0]
        self.next = base + last + 1
        self.body = content[45:]
        assert crc32c.crc32c(content[5:]) == checksum, f"wrong checksum at offset {base}"


def batches(content):
    """The whole batches of a fetch answer."""
    out, at = [], 0
    content = content or b""
    while at + 12 <= len(content):
        base, size, epoch = struct.unpack(">qii", content[at : at + 16])
        if at + 12 + size > len(content):
            break
        out.append(Batch(base, epoch, content[at + 16 : at + 12 + size]))
        at += 12 + size
    return out


def produce_request(topic, partitions, acks=-1):
    """`partitions` is a list of (partition, record bytes)."""
    data = [{"Index": index, "Records": records} for index, records in partitions]
    return {"Acks": acks, "TimeoutMs": 10000, "TopicData": [{"Name": topic, "PartitionData": data}]}


def produce(connection, topic, partition, records, version=9, **layout):
    """Sends one batch, or ready bytes, to one partition and returns that partition's answer."""
    records = records if isinstance(records, bytes) else batch(records, **layout)
    answer = connection.call("Produce", version, produce_request(topic, [(partition, records)]))
    return answer["Responses"][0]["PartitionResponses"][0]


def fetch_request(topic, offsets, wait=500, min_bytes=1, max_bytes=1 << 25, partition_bytes=1 << 20, session=(0, -1)):
    """`offsets` maps partitions to offsets; without a session by default."""
    parts = [{"Partition": p, "FetchOffset": o, "PartitionMaxBytes": partition_bytes, "LogStartOffset": -1} for p, o in offsets.items()]
    return {
        "ReplicaId": -1, "MaxWaitMs": wait, "MinBytes": min_bytes, "MaxBytes": max_bytes, "SessionId": session[0],
        "SessionEpoch": session[1], "Topics": [{"Topic": topic, "Partitions": parts}] if parts else [],
    }


def fetch(connection, topic, offsets, version=12, **limits):
    """The whole answer to a fetch."""
    return connection.call("Fetch", version, fetch_request(topic, offsets, **limits))


def fetched(answer):
    """Partition -> its part of the answer."""
    return {p["PartitionIndex"]: p for t in answer["Responses"] for p in t["Partitions"]}


def list_offset(connection, topic, partition, timestamp, version=7, isolation=0):
    """(error, timestamp, offset) for one partition."""
    part = {"PartitionIndex": partition, "CurrentLeaderEpoch": -1, "Timestamp": timestamp}
    request = {"ReplicaId": -1, "IsolationLevel": isolation, "Topics": [{"Name": topic, "Partitions": [part]}]}
    answer = connection.call("ListOffsets", version, request)["Topics"][0]["Partitions"][0]
    return answer["ErrorCode"], answer["Timestamp"], answer["Offset"]


def committed_offsets(connection, group, topic, partitions):
    """Partition -> offset that a group has committed, -1 for none; None where the coordinator cannot say yet, because it
    loads or a transaction with offsets of the group is being decided."""
    request = {"GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": list(partitions)}], "RequireStable": True}
    answer = connection.call("OffsetFetch", 7, request)
    found = [part for of in answer["Topics"] for part in of["Partitions"]]
    if answer["ErrorCode"] or any(part["ErrorCode"] for part in found):
        return None
    return {part["PartitionIndex"]: part["CommittedOffset"] for part in found}
