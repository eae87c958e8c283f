"""Makes a good request doubtful: one field gets a value that nobody would send on purpose."""

from differ.mapping import Mapping
from harness.raw import NUMBERS, _holds as holds

# A large number here would only be waited for, or make a million of something; a small time limit lets chance decide.
LIMITED = {
    "MaxWaitMs": [0, -1, 1], "TimeoutMs": [10000], "timeoutMs": [20000], "SessionTimeoutMs": [0, -1, 6000000], "RebalanceTimeoutMs": [60000],
    "NumPartitions": [0, -2, 10001], "Count": [0, -1, 20001], "ReplicationFactor": [0, -2, 2], "CoordinatorEpoch": [0], "ProducerEpoch": [0, 1, -1],
    "TransactionTimeoutMs": [0, -1, 600000], "V3AndBelowProducerEpoch": [0, 1, -1], "Acks": [2, -2], "CoordinatorKeyType": [0], "BrokerId": [7],
    "CommittedOffset": [0, -1, 5], "MaxVersionLevel": [99], "TransactionVersion": [0, 1, 2, 3],
    "Partitions": [0, -1, 3, 10001], "MaxRecords": [0, -1, 1, 2147483647], "MinBytes": [0, -1, 1], "SessionId": [0, 1, -1, 12345],
}
EDGES = {"int8": 127, "int16": 32767, "uint16": 65535, "int32": 2147483647, "uint32": 4294967295, "int64": 9223372036854775807}
# What the request is about is not twisted away, and what a broker must not do does not happen by chance.
# A Kafka never answers AddPartitionsToTxn without transactions, nor markers that name a partition twice.
# And of a Produce request that names a partition twice it stores one batch and may answer for another.
# And AlterConfigs that names a resource three times is never answered.
# A share session cannot be opened with a partition that is named twice: Kafka's code fails over it.
# A share-partition is first read beside the request: where that may not wait, chance decides whether it is ready.
LEFT_ALONE = {("ShareFetch", "MaxWaitMs"), ("ShareFetch", "Topics"), ("ShareFetch", "Partitions"), ("AlterClientQuotas", "Value"), ("AlterClientQuotas", "EntityName"), ("AlterClientQuotas", "Entity"), ("AlterConfigs", "Resources"), ("Produce", "TopicData"), ("Produce", "PartitionData"), "Transactions", "Markers", ("WriteTxnMarkers", "Topics"), ("WriteTxnMarkers", "PartitionIndexes"), ("WriteTxnMarkers", "ProducerId"),
    "ValidateOnly", "validateOnly", "Acks", "Records", "Remove", "ClusterId", "ReplicaEpoch", "HighWatermark", "NodeId", "ReplicaState", "ReplicaDirectoryId"}


def places(value, fields, layout, at=()):
    """Every field of a request: (container, key, schema of the field)."""
    for field in fields:
        name = field["name"]
        if name not in value or not holds(field["versions"], layout.version) or name in LEFT_ALONE or (layout.schema["name"].removesuffix("Request"), name) in LEFT_ALONE:
            continue
        yield value, name, field
        inner = Mapping.inner(field, layout)
        if inner and isinstance(value[name], dict):
            yield from places(value[name], inner, layout)
        elif isinstance(value[name], list):
            for index, item in enumerate(value[name]):
                if inner and isinstance(item, dict):
                    yield from places(item, inner, layout)


def twist(rng, request, layout):
    """Changes one field in place."""
    found = list(places(request, layout.schema["fields"], layout))
    if not found:
        return
    container, name, field = rng.choice(found)
    nullable = holds(field.get("nullableVersions"), layout.version)
    container[name] = twisted(rng, field, container[name], nullable)


def twisted(rng, field, value, nullable):
    kind, name = field["type"], field["name"]
    if (nullable and rng.random() < 0.4) or (not nullable and kind not in NUMBERS and kind != "uuid" and rng.random() < 0.03):
        return None
    if kind.startswith("[]"):
        choices = [[], (value or []) * 2, (value or [])[:1] * 3]
        return rng.choice(choices)
    if name in LIMITED:
        return rng.choice(LIMITED[name])
    if kind == "bool":
        return not value
    if kind in EDGES:
        edge = EDGES[kind]
        low = 0 if kind.startswith("u") else -edge - 1
        return rng.choice([0, 1, -1 if low else 2, -2 if low else 3, (value or 0) + 1 if (value or 0) < edge else 0, edge, low])
    if kind == "float64":
        return rng.choice([0.0, -1.0, 1e300])
    if kind == "uuid":
        # Kafka makes subscription ids with a hash of the client's, which is the same for all ids of one byte.
        return {"hex": rng.choice(["00" * 16, "00" * 15 + "01", "5a" * 15 + "51"])}
    if kind == "string":
        return rng.choice(["", "no such thing", "x" * 260, "..", "üñí", (value or "") + "x", " "])
    if kind in ("bytes", "records"):
        return {"hex": rng.choice(["", "00", "ffff00", "7fffffff"])}
    return value
