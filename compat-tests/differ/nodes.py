"""Requests about the cluster itself: leaders, replicas, folders, the quorum, features, clients' figures."""

from differ.shapes import ZERO, groups, numbers, once, one_of, some, topics_with


def elect(w, version):
    rng = w.rng
    return {
        "ElectionType": one_of(rng, (0, 6), (1, 3), (2, 0.6), (-1, 0.4)), "TimeoutMs": 10000,
        "TopicPartitions": None if rng.random() < 0.15 else once("Topic", topics_with(w, lambda topic: {"Topic": topic["name"], "Partitions": numbers(w, topic)})),
    }


def reassign(w, version):
    rng = w.rng

    def partition(topic):
        return {"PartitionIndex": w.partition(topic), "Replicas": one_of(rng, ([1], 5), (None, 3), ([9], 1), ([1, 1], 1), ([1, 9], 1), ([], 1), ([-1], 0.5))}

    return {
        "TimeoutMs": 10000, "AllowReplicationFactorChange": rng.random() < 0.7,
        "Topics": once("Name", topics_with(w, lambda topic: {"Name": topic["name"], "Partitions": once("PartitionIndex", some(rng, lambda: partition(topic)))})),
    }


def move(w, version):
    rng = w.rng

    def folder():
        path = one_of(rng, (w.folder or "/no/such/folder", 5), ("/no/such/folder", 2), ("", 0.7), ("relative", 0.5))
        return {"Path": path, "Topics": once("Name", topics_with(w, lambda topic: {"Name": topic["name"], "Partitions": numbers(w, topic)}))}

    return {"Dirs": once("Path", some(rng, folder, most=2))}


def push(w, version):
    rng = w.rng
    # One gauge without points, and what is no message.
    metrics = one_of(rng, ("", 3), ("0a0a0a0012061a040a0278", 0), ("0a02" + "0a00", 3), ("ffffff", 1))
    return {
        "ClientInstanceId": one_of(rng, (w.telemetry["ClientInstanceId"], 14), (ZERO, 1), ({"hex": "6b" * 16}, 1)),
        "SubscriptionId": w.telemetry["SubscriptionId"] if rng.random() < 0.85 else 12345, "Terminating": rng.random() < 0.2,
        "CompressionType": one_of(rng, (0, 8), (1, 0.7), (4, 0.7), (9, 0.5), (-1, 0.3)), "Metrics": {"hex": metrics},
    }


SHAPES = {
    "ElectLeaders": elect, "AlterPartitionReassignments": reassign, "AlterReplicaLogDirs": move, "PushTelemetry": push,
    "GetTelemetrySubscriptions": lambda w, v: {"ClientInstanceId": one_of(w.rng, (ZERO, 4), (w.telemetry["ClientInstanceId"], 3), ({"hex": "6b" * 16}, 1))},
    "ShareGroupDescribe": lambda w, v: {"GroupIds": groups(w), "IncludeAuthorizedOperations": w.rng.random() < 0.3},
    "StreamsGroupDescribe": lambda w, v: {"GroupIds": groups(w), "IncludeAuthorizedOperations": w.rng.random() < 0.3, "IncludeTopologyDescription": w.rng.random() < 0.3},
}
