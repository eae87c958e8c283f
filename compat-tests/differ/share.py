"""Requests of share consumers, of their admin tools, and between brokers about what a share group has of a partition."""

import base64

from differ.shapes import ZERO, numbers, once, one_of, some

# Accept, release, reject; then a gap, a renewal, and two that do not exist.
ACKNOWLEDGE = ((1, 8), (2, 5), (3, 2), (0, 1), (4, 1.5), (5, 0.5), (-1, 0.3))


def java_hash(text):
    out = 0
    for letter in text:
        out = (out * 31 + ord(letter)) & 0xFFFFFFFF
    return out


def id_like(make, slot):
    """An id whose place in Java's hash maps is known: Kafka hands out partitions in the order of these."""
    while True:
        text = make()
        number = java_hash(text)
        if number & 15 == slot and (number ^ number >> 16) & 15 == slot:
            return text


def comes_first(made):
    """Whether a broker's own id is before those of `named` at slots 14 and 15, by letters and in hash maps of four to sixteen."""
    number = java_hash(made)
    return (number ^ number >> 16) & 3 < 2 and made < LAST


# Ids that begin so are behind all that a broker makes, about.
LAST = "zz"


def uuid(rng, slot):
    """An id that a client makes for itself, in Kafka's form; a later slot is a later name too."""
    return id_like(lambda: "ABCDEFGH"[slot] + base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=").replace("-", "A")[1:], slot)


def named(rng, name, slot):
    return id_like(lambda: f"{name}-{slot}-{rng.randrange(10**6)}", slot)


def group_topics(w, most=2):
    names = w.subscribed(most)
    return one_of(w.rng, (names, 14), (names + ["no-such-topic"], 1), ([], 0.7), (["bad name"], 0.3), (names * 2, 0.4))


def epoch_of(w, mine):
    """The epoch of a heartbeat: mostly the one that the member was told."""
    return max(mine["epoch"], 0) + one_of(w.rng, (0, 18), (1, 0.7), (-1, 0.7), (7, 0.4))


def heartbeat(w, version):
    rng, mine = w.rng, w.sharer()
    first = mine["epoch"] <= 0
    leaves = not first and rng.random() < 0.08
    return {
        "GroupId": w.group(), "MemberId": one_of(rng, (mine["id"], 25), ("", 0.5), (w.stranger, 0.5), ("x" * 40, 0.3)),
        "MemberEpoch": -1 if leaves else epoch_of(w, mine), "RackId": one_of(rng, (None, 8), ("r1", 1), ("", 0.4)),
        "SubscribedTopicNames": group_topics(w) if first or rng.random() < 0.2 else None,
    }


def types(rng, first, last):
    """One type for all, or one for each."""
    count = last - first + 1
    if rng.random() < 0.6 or not 0 < count < 20:
        return [one_of(rng, *ACKNOWLEDGE)]
    size = count + one_of(rng, (0, 12), (1, 1), (-1, 1))
    return [one_of(rng, *ACKNOWLEDGE) for _ in range(size)]


def acknowledged(w, mine, topic, index, usual):
    """Batches to acknowledge of a partition: of what the member holds, or of what it does not."""
    rng, held = w.rng, mine["held"].get((topic["name"], index), [])
    if rng.random() > usual:
        return []
    rows = []
    for first, last in held[: rng.randint(1, 3)]:
        if rng.random() < 0.3 and last > first:
            first, last = one_of(rng, ((first, last - 1), 2), ((first + 1, last), 2), ((first, first), 2))
        rows.append((first, last))
    if not held or rng.random() < 0.08:
        rows.append(one_of(rng, ((0, 0), 3), ((0, 5), 1), ((2, 1), 1), ((90, 95), 1), ((-1, 0), 0.5), ((0, 2**62), 0.3)))
    if rng.random() < 0.05:
        rows *= 2
    return [{"FirstOffset": first, "LastOffset": last, "AcknowledgeTypes": one_of(rng, (types(rng, first, last), 30), ([], 0.6))} for first, last in rows]


def renews(rng, topics):
    """Whether a request says that it renews: mostly what is true."""
    batches = [batch for topic in topics for part in topic["Partitions"] for batch in part["AcknowledgementBatches"]]
    true = any(4 in batch["AcknowledgeTypes"] for batch in batches)
    return true if rng.random() < 0.9 else not true


def session_of(w, mine):
    return one_of(w.rng, (mine["session"], 22), (mine["session"] + 1, 0.7), (0, 0.8), (-1, 0.9), (-2, 0.3))


def partitions_of(w, mine, topic, usual):
    """Each partition once: those that are led here, with what is acknowledged of them."""
    indexes = sorted({w.partition(topic) for _ in range(w.rng.randint(1, 2))} | ({0} if w.rng.random() < 0.6 else set()))
    return [{"PartitionIndex": index, "AcknowledgementBatches": acknowledged(w, mine, topic, index, usual)} for index in indexes]


def fetch(w, version):
    rng, mine = w.rng, w.sharer()
    epoch = session_of(w, mine)

    def topic():
        chosen = w.topic()
        return {"TopicId": chosen["id"], "Partitions": partitions_of(w, mine, chosen, 0.1 if epoch == 0 else 0.4)}

    topics = unique(some(rng, topic, most=2) if epoch >= 0 or rng.random() < 0.7 else [])
    forgotten = [] if epoch <= 0 or rng.random() < 0.85 else [{"TopicId": one["id"], "Partitions": numbers(w, one)} for one in [w.topic()]]
    records = one_of(rng, (500, 8), (1, 2), (2, 2), (0, 0.6), (-1, 0.4))
    return {
        "GroupId": one_of(rng, (w.group(), 30), (None, 0.4)), "MemberId": one_of(rng, (mine["id"], 30), (None, 0.4), (w.stranger, 0.4), ("", 0.4)),
        "ShareSessionEpoch": epoch, "MaxWaitMs": 300, "MinBytes": one_of(rng, (1, 8), (0, 2)),
        "MaxBytes": one_of(rng, (1048576, 9), (1, 1), (0, 0.4)), "MaxRecords": records, "BatchSize": one_of(rng, (max(records, 1), 4), (500, 3), (1, 1), (0, 0.5), (-1, 0.3)),
        "ShareAcquireMode": one_of(rng, (0, 8), (1, 3), (2, 0.4), (-1, 0.2)), "IsRenewAck": renews(rng, topics), "Topics": topics, "ForgottenTopicsData": forgotten,
    }


def unique(topics):
    """Each id once: a schema's map has no two."""
    return list({topic["TopicId"]["hex"]: topic for topic in topics}.values())


def acknowledge(w, version):
    rng, mine = w.rng, w.sharer()

    def topic():
        chosen = w.topic()
        return {"TopicId": chosen["id"], "Partitions": partitions_of(w, mine, chosen, 0.95)}

    topics = unique(some(rng, topic, most=2))
    return {
        "GroupId": one_of(rng, (w.group(), 30), (None, 0.4)), "MemberId": one_of(rng, (mine["id"], 30), (None, 0.4), (w.stranger, 0.4)),
        "ShareSessionEpoch": session_of(w, mine), "IsRenewAck": renews(rng, topics), "Topics": topics,
    }


def named_topics(w, name, content):
    """Some topics by name, each once."""
    def topic():
        chosen = w.topic(internal=0.03)
        return {"TopicName": chosen["name"], **content(chosen)}
    rows = some(w.rng, topic, most=2)
    return rows if w.rng.random() < 0.05 else once(name, rows)


def describe_offsets(w, version):
    rng = w.rng
    return {"Groups": some(rng, lambda: {
        "GroupId": w.group(), "Topics": one_of(rng, (None, 3), (named_topics(w, "TopicName", lambda topic: {"Partitions": numbers(w, topic)}), 6))}, most=2)}


def alter_offsets(w, version):
    rng = w.rng
    # It makes the group: a name that no other walk has, as Kafka remembers for minutes who else asked for one.
    group = one_of(rng, (f"w{w.number}-g", 14), (f"w{w.number}-other", 0.6), ("", 0.4))
    return {"GroupId": group, "Topics": named_topics(w, "TopicName", lambda topic: {"Partitions": once("PartitionIndex", some(rng, lambda: {
        "PartitionIndex": w.partition(topic), "StartOffset": one_of(rng, (0, 4), (1, 3), (3, 2), (99, 1), (-1, 0.6), (-2, 0.3))}))})}


# Between brokers. The state of a share-partition that the walk keeps for itself, beside that of its share group.


def state_topics(w, content):
    def topic():
        chosen = w.topic()
        indexes = sorted({w.partition(chosen) for _ in range(w.rng.randint(1, 2))})
        id_ = one_of(w.rng, (chosen["id"], 20), (ZERO, 0.4), ({"hex": "6b" * 16}, 0.4))
        return {"TopicId": id_, "Partitions": [{"Partition": index, **content()} for index in indexes] if w.rng.random() < 0.96 else []}
    return unique(some(w.rng, topic, most=2))


def state_group(w):
    return one_of(w.rng, (f"w{w.number}-state", 20), (w.group(), 2), ("", 0.5))


def state_epoch(w):
    return max(w.state_epoch, 0) + one_of(w.rng, (0, 14), (1, 2), (-1, 1), (-3, 0.5))


def leader_epoch(w):
    return one_of(w.rng, (0, 12), (-1, 2), (1, 2), (2, 0.7), (-2, 0.4))


def initialize(w, version):
    return {"GroupId": state_group(w), "Topics": state_topics(w, lambda: {
        "StateEpoch": state_epoch(w) + one_of(w.rng, (0, 1), (1, 1)), "StartOffset": one_of(w.rng, (0, 5), (-1, 3), (10, 3), (-2, 0.5))})}


def read(w, version):
    return {"GroupId": state_group(w), "Topics": state_topics(w, lambda: {"LeaderEpoch": leader_epoch(w)})}


def write(w, version):
    rng = w.rng

    def batch():
        first = rng.randint(0, 20)
        last = first + one_of(rng, (rng.randint(0, 6), 16), (-1, 0.7))
        return {"FirstOffset": first, "LastOffset": last, "DeliveryState": one_of(rng, (0, 6), (2, 6), (4, 4), (1, 0.4), (9, 0.3), (-1, 0.2)), "DeliveryCount": one_of(rng, (1, 6), (2, 3), (0, 1), (-1, 0.3))}

    return {"GroupId": state_group(w), "Topics": state_topics(w, lambda: {
        "StateEpoch": state_epoch(w), "LeaderEpoch": leader_epoch(w), "StartOffset": one_of(rng, (0, 5), (-1, 5), (4, 2), (12, 2), (-2, 0.3)),
        "DeliveryCompleteCount": one_of(rng, (-1, 3), (0, 3), (2, 3), (-2, 0.3)), "StateBatches": [batch() for _ in range(one_of(rng, (1, 5), (2, 4), (4, 2), (0, 1)))]})}


SHAPES = {
    "ShareGroupHeartbeat": heartbeat, "ShareFetch": fetch, "ShareAcknowledge": acknowledge,
    "DescribeShareGroupOffsets": describe_offsets, "AlterShareGroupOffsets": alter_offsets,
    "DeleteShareGroupOffsets": lambda w, v: {"GroupId": w.group(), "Topics": named_topics(w, "TopicName", lambda topic: {})},
    "InitializeShareGroupState": initialize, "ReadShareGroupState": read, "WriteShareGroupState": write,
    "DeleteShareGroupState": lambda w, v: {"GroupId": state_group(w), "Topics": state_topics(w, dict)},
    "ReadShareGroupStateSummary": read,
}
