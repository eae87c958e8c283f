"""Requests of Kafka Streams applications that let the broker assign their tasks (KIP-1071)."""

from differ.shapes import one_of
from differ.share import epoch_of

NOTHING = {"SourceTopics": [], "SourceTopicRegex": [], "StateChangelogTopics": [], "RepartitionSinkTopics": [], "RepartitionSourceTopics": [], "CopartitionGroups": []}


def internal(name, partitions=0, configs=()):
    return {"Name": name, "Partitions": partitions, "ReplicationFactor": 0, "TopicConfigs": [{"Key": key, "Value": value} for key, value in configs]}


def plan(w):
    """What one application of the walk does; all its members say the same."""
    rng, group = w.rng, f"w{w.number}-g"
    wide, narrow = w.topics[0]["name"], w.topics[1]["name"]
    changelog = internal(f"{group}-store-changelog", configs=[("cleanup.policy", "compact")])
    through = internal(f"{group}-by-repartition", one_of(rng, (2, 2), (0, 1)))
    stateless = [{"SubtopologyId": "0", "SourceTopics": [wide]}]
    stateful = [{"SubtopologyId": "0", "SourceTopics": [wide], "StateChangelogTopics": [changelog]}]
    two_steps = [
        {"SubtopologyId": "0", "SourceTopics": [wide], "RepartitionSinkTopics": [through["Name"]]},
        {"SubtopologyId": "1", "RepartitionSourceTopics": [through], "StateChangelogTopics": [changelog]},
    ]
    joined = [{"SubtopologyId": "0", "SourceTopics": [wide, narrow], "CopartitionGroups": [{"SourceTopics": [0, 1], "SourceTopicRegex": [], "RepartitionSourceTopics": []}]}]
    apart = [{"SubtopologyId": "a", "SourceTopics": [wide]}, {"SubtopologyId": "b", "SourceTopics": [narrow], "StateChangelogTopics": [changelog]}]
    pattern = [{"SubtopologyId": "0", "SourceTopicRegex": [f"w{w.number}-.*"]}]
    missing = [{"SubtopologyId": "0", "SourceTopics": ["no-such-topic"]}]
    stray = [{"SubtopologyId": "0", "SourceTopics": [wide], "RepartitionSinkTopics": ["nobody-reads-this"]}]
    misnamed = [{"SubtopologyId": "0", "SourceTopics": [wide], "StateChangelogTopics": [internal("not valid!")]}]
    outside = [{"SubtopologyId": "0", "SourceTopics": [wide], "CopartitionGroups": [{"SourceTopics": [0, 7], "SourceTopicRegex": [], "RepartitionSourceTopics": []}]}]
    refused = [{"SubtopologyId": "0", "SourceTopics": [wide], "StateChangelogTopics": [internal(f"{group}-store-changelog", configs=[("no.such.setting", "1")])]}]
    chosen = one_of(rng, (stateless, 5), (stateful, 5), (two_steps, 4), (joined, 2), (apart, 4), (pattern, 1.5), (missing, 1.5), (stray, 0.7), (misnamed, 0.7), (outside, 0.7), (refused, 0.7), ([], 0.5))
    return {"Epoch": 0, "Subtopologies": [{**NOTHING, **one} for one in chosen]}


def topology(w):
    """The application's plan; sometimes another member has an older or a newer one."""
    if w.plan is None:
        w.plan = plan(w)
    epoch = one_of(w.rng, (0, 24), (1, 1), (-1, 0.4))
    return w.plan if not epoch else {**w.plan, "Epoch": epoch}


def may_begin(w, request):
    """Whether the topics of an application can be there: Kafka's code fails over the endpoint of a member while they are not."""
    plan = request.get("Topology") or w.plan or {}
    names = {topic["name"] for topic in w.topics}
    return all(set(one["SourceTopics"]) <= names and not one["CopartitionGroups"] for one in plan.get("Subtopologies") or [])


def heartbeat(w, version):
    rng, mine = w.rng, w.sharer()
    first, leaves = mine["epoch"] <= 0, mine["epoch"] > 0 and rng.random() < 0.08
    odd = rng.random() < 0.05
    tasks = lambda kind: [] if first else mine["tasks"].get(kind, []) if rng.random() < 0.6 else None
    return {
        "GroupId": w.group(), "MemberId": one_of(rng, (mine["id"], 25), ("", 0.5), ("x" * 40, 0.3)),
        "MemberEpoch": one_of(rng, (-1, 6), (-2, 1)) if leaves else epoch_of(w, mine), "EndpointInformationEpoch": one_of(rng, (mine["endpoints"], 8), (0, 1), (-1, 1)),
        "InstanceId": one_of(rng, (mine["instance"], 20), ("", 0.4)), "RackId": one_of(rng, (None, 6), ("r1", 1)), "RebalanceTimeoutMs": 60000 if first and not odd else one_of(rng, (-1, 8), (60000, 1), (0, 0.3)),
        "Topology": topology(w) if first and rng.random() < 0.96 else None if rng.random() < 0.96 else topology(w),
        "ActiveTasks": tasks("ActiveTasks"), "StandbyTasks": tasks("StandbyTasks"), "WarmupTasks": tasks("WarmupTasks"),
        "ProcessId": one_of(rng, (mine["process"], 20), (None, 1), ("", 0.4)) if first else one_of(rng, (None, 8), (mine["process"], 1), ("other", 0.4)),
        "UserEndpoint": one_of(rng, ({"Host": mine["line"], "Port": 7070}, 2), (None, 3)) if first else one_of(rng, (None, 8), ({"Host": "moved", "Port": 1}, 1)),
        "ClientTags": one_of(rng, ([], 4), ([{"Key": "zone", "Value": mine["line"]}], 1), (None, 1)) if first else None,
        "TaskOffsets": None if rng.random() < 0.9 else [{"SubtopologyId": "0", "Partition": 0, "Offset": 1}], "TaskEndOffsets": None, "ShutdownApplication": rng.random() < 0.03,
    }


def description(w, version):
    mine = w.sharer()
    node = {"Name": "source", "NodeType": one_of(w.rng, (1, 5), (2, 1), (9, 0.5)), "SourceTopics": [w.topics[0]["name"]], "SinkTopic": None, "Stores": [], "Successors": []}
    return {"GroupId": w.group(), "MemberId": mine["id"], "TopologyEpoch": one_of(w.rng, (0, 5), (1, 1)),
            "TopologyDescription": {"Subtopologies": [{"SubtopologyId": "0", "Nodes": [node]}], "GlobalStores": []}}


SHAPES = {"StreamsGroupHeartbeat": heartbeat, "StreamsGroupTopologyDescriptionUpdate": description}
