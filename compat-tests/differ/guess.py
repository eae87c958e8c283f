"""Requests of kinds without a shape of their own: from the schema, with what a field's name says of it."""

from differ.mapping import Mapping
from differ.shapes import ZERO, one_of, some
from harness.raw import NUMBERS, _holds as holds

LEAST = {"MemberEpoch": [0, 0, 1, -1, -2, 5], "ElectionType": [0, 0, 1, 2], "ShareSessionEpoch": [0, 1, -1], "EndpointType": [1, 2], "PermissionType": [2]}
TIMES = {"TimeoutMs", "timeoutMs", "RebalanceTimeoutMs", "TimeoutInMs"}
PARTITIONS = {"Partition", "PartitionIndex", "Partitions", "PartitionIndexes", "PartitionId", "PartitionIds"}
GROUPS = {"GroupId", "GroupIds", "Groups"}


def request(w, layout):
    return fields(w, layout, layout.schema["fields"], w.topic())


def fields(w, layout, schema, topic):
    out = {}
    for field in schema:
        if holds(field["versions"], layout.version) and not (holds(field.get("taggedVersions"), layout.version) and w.rng.random() < 0.8):
            out[field["name"]] = value(w, layout, field, topic)
    return out


def value(w, layout, field, topic):
    kind, rng = field["type"], w.rng
    if holds(field.get("nullableVersions"), layout.version) and rng.random() < 0.4:
        return None
    if kind.startswith("[]"):
        inner = {**field, "type": kind[2:], "nullableVersions": "none"}
        return some(rng, lambda: value(w, layout, inner, w.topic()), most=2)
    inner = Mapping.inner(field, layout)
    if inner:
        return fields(w, layout, inner, topic)
    return single(w, field, kind, topic)


def single(w, field, kind, topic):
    name, rng = field["name"], w.rng
    if name in LEAST:
        return rng.choice(LEAST[name])
    if name in TIMES:
        return 20000
    if name in PARTITIONS:
        return w.partition(topic)
    if name in GROUPS:
        return w.group()
    if kind == "uuid":
        return topic["id"] if "Topic" in name else one_of(rng, (ZERO, 3), ({"hex": "00" * 15 + "07"}, 1))
    if kind == "bool":
        return rng.random() < 0.5
    if kind in NUMBERS:
        return rng.choice([0, 1, 1, -1]) if "uint" not in kind else 1
    if kind == "string":
        return topic["name"] if field.get("entityType") == "topicName" or "Topic" in name else one_of(rng, ("x", 2), ("", 1), (w.txn_name(), 1))
    return {"hex": rng.choice(["", "00"])}
