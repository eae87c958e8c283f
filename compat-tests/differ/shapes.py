"""One request of each kind as a client would send it: mostly valid, from what the walk knows, with doubtful values among them.

A shape has every field that it knows of; the codec leaves out those that a version does not have.
"""

import struct

TOPIC_CONFIGS = {
    "retention.ms": ["604800000", "-1", "-2", "abc", ""], "cleanup.policy": ["delete", "compact", "compact,delete", "bogus", ""],
    "max.message.bytes": ["2000000", "0", "-1", "1.5"], "min.insync.replicas": ["1", "0", "2"],
    "compression.type": ["producer", "zstd", "gzip", "nope"], "message.timestamp.type": ["CreateTime", "LogAppendTime", "Now"],
    "segment.bytes": ["1048576", "13", "1073741824"], "segment.ms": ["600000", "0"], "retention.bytes": ["1000000000", "-1", "-5"],
    "delete.retention.ms": ["100000", "-1"], "min.cleanable.dirty.ratio": ["0.5", "1", "1.5", "x"], "preallocate": ["false", "TRUE", "yes"],
    "flush.messages": ["1000", "0"], "file.delete.delay.ms": ["60000", "-1"], "index.interval.bytes": ["4096", "-1"],
    "message.timestamp.before.max.ms": ["9223372036854775807", "-1"], "unclean.leader.election.enable": ["false", "maybe"],
    "leader.replication.throttled.replicas": ["", "*", "0:1,1:1", "nonsense"], "max.compaction.lag.ms": ["1000000000", "0"],
    "compression.zstd.level": ["3", "100"], "remote.storage.enable": ["false"], "unknown.config": ["1"], "message.format.version": ["3.0"],
    "segment.jitter.ms": ["0", "-1"], "min.compaction.lag.ms": ["0", "-1"],
}
BROKER_CONFIGS = {
    "max.connections.per.ip": ["1000", "-1", "x"], "log.cleaner.backoff.ms": ["15000", "x"], "node.id": ["2"], "unknown.config": ["1"],
    "log.retention.ms": ["600000000", "0"], "advertised.listeners": ["x"],
}
GROUP_CONFIGS = {
    "consumer.session.timeout.ms": ["50000", "1", "x"], "consumer.heartbeat.interval.ms": ["6000", "1"], "unknown.config": ["1"],
    "share.record.lock.duration.ms": ["30000", "1"], "share.auto.offset.reset": ["earliest", "never"], "streams.num.standby.replicas": ["1", "9"],
}
METRICS_CONFIGS = {"metrics": ["org.apache.kafka.producer.", "*", ""], "interval.ms": ["60000", "1"], "match": ["client_id=x", "nope=1"]}
CONFIGS = {2: TOPIC_CONFIGS, 4: BROKER_CONFIGS, 8: {"org.apache.kafka": ["INFO"]}, 16: METRICS_CONFIGS, 32: GROUP_CONFIGS}
QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate", "connection_creation_rate", "unknown_rate")


def one_of(rng, *weighted):
    """One of (value, weight) pairs."""
    return rng.choices([value for value, _ in weighted], [weight for _, weight in weighted])[0]


def some(rng, make, usual=1, most=3):
    """A few things: mostly one, sometimes more or none."""
    return [make() for _ in range(one_of(rng, (usual, 8), (rng.randint(1, most), 3), (0, 0.4)))]


def subscription(topics, mark="", version=1):
    """What a consumer of a classic group says of itself; `mark` tells the members apart."""
    out = struct.pack(">hi", version, len(topics))
    for topic in topics:
        out += struct.pack(">h", len(topic)) + topic.encode()
    out += struct.pack(">i", len(mark)) + mark.encode()
    return {"hex": (out + (struct.pack(">i", 0) if version else b"")).hex()}


def assignment(topic, partitions):
    name = topic.encode()
    out = struct.pack(">hih", 0, 1, len(name)) + name + struct.pack(f">i{len(partitions)}ii", len(partitions), *partitions, -1)
    return {"hex": out.hex()}


def produce(w, version):
    rng = w.rng
    transactional = w.family == "txn" and rng.random() < 0.75
    producer = w.producer(transactional)
    id_, epoch = (producer["id"], producer["epoch"]) if producer else (-1, -1)

    def partition(topic):
        index = w.partition(topic)
        batch = {"records": records(rng), "ProducerId": id_, "ProducerEpoch": epoch}
        if producer:
            key = f"{topic['name']}/{index}"
            batch["sequence"] = producer["sequences"].get(key, 0) + one_of(rng, (0, 12), (1, 1), (-1, 1))
            batch["sequence"] = max(batch["sequence"], 0)
            batch["attributes"] = 16 if transactional else 0
        # Below version 7 Kafka looks at the codec before the rest, and fails over one that it does not know.
        batch.update(one_of(rng, *(twist for twist in BATCH_TWISTS if version >= 7 or twist[0].get("attributes") != 5)))
        return {"Index": index, "Records": {"batches": [batch] * one_of(rng, (1, 30), (2, 1), (0, 1))}}

    def topic():
        chosen = w.topic(internal=0.05)
        parts = once("Index", [partition(chosen) for _ in range(one_of(rng, (1, 8), (2, 2), (0, 0.3)))])
        return {"Name": chosen["name"], "TopicId": chosen["id"], "PartitionData": parts}

    return {
        "TransactionalId": producer["name"] if transactional and producer else one_of(rng, (None, 20), ("", 1)),
        "Acks": one_of(rng, (-1, 10), (1, 5), (0, 1), (2, 0.5), (-2, 0.5)), "TimeoutMs": 10000,
        "TopicData": once("Name", some(rng, topic, most=2)),
    }


def once(name, rows):
    """Rows with each name once."""
    return list({row[name]: row for row in rows}.values())


BATCH_TWISTS = (
    ({}, 40), ({"spoil": "crc"}, 1), ({"spoil": "length"}, 1), ({"spoil": "short"}, 1), ({"magic": 1}, 1), ({"magic": 3}, 1), ({"base": 5}, 1),
    ({"count": 7}, 1), ({"last": 9}, 1), ({"attributes": 32}, 1), ({"attributes": 48}, 1), ({"attributes": 5}, 0.5), ({"attributes": 8}, 1),
    ({"first_time": 4_000_000_000_000}, 1), ({"first_time": -1}, 1), ({"max_time": 1_700_000_000_777}, 1), ({"records": []}, 1),
    ({"sequence": -1}, 1), ({"epoch": 3}, 1), ({"ProducerEpoch": 9}, 1), ({"attributes": 16}, 1), ({"last": 2147483647}, 0.5),
)


def records(rng):
    return [(one_of(rng, (f"k{rng.randint(0, 3)}", 3), (None, 1), ("", 0.3)), one_of(rng, (f"value {rng.randint(0, 99)}", 6), (None, 1), ("", 1))) for _ in range(rng.randint(1, 3))]


def fetch(w, version):
    rng = w.rng
    session = one_of(rng, ((0, -1), 6), (w.session, 3), ((0, 0), 2), ((12345, 4), 0.5))

    def topic():
        chosen = w.topic()
        return {"Topic": chosen["name"], "TopicId": chosen["id"], "Partitions": some(rng, lambda: {
            "Partition": w.partition(chosen), "CurrentLeaderEpoch": w.leader_epoch(), "FetchOffset": w.offset(chosen),
            "LastFetchedEpoch": one_of(rng, (-1, 8), (0, 2), (7, 1)), "LogStartOffset": -1,
            "PartitionMaxBytes": one_of(rng, (1048576, 8), (1, 1), (0, 1), (100, 1)),
        })}

    return {
        "ReplicaId": -1, "MaxWaitMs": one_of(rng, (0, 3), (20, 3)), "MinBytes": one_of(rng, (1, 5), (0, 1), (100000, 1)),
        "MaxBytes": one_of(rng, (1048576, 8), (1, 1), (0, 1), (150, 1)), "IsolationLevel": rng.randint(0, 1), "SessionId": session[0],
        "SessionEpoch": session[1], "Topics": some(rng, topic, most=2),
        "ForgottenTopicsData": [] if session[1] <= 0 or rng.random() < 0.7 else [{"Topic": t["name"], "TopicId": t["id"], "Partitions": [0]} for t in [w.topic()]],
        "RackId": one_of(rng, ("", 5), ("r1", 1)),
    }


def list_offsets(w, version):
    rng = w.rng

    def topic():
        chosen = w.topic(internal=0.05)
        return {"Name": chosen["name"], "Partitions": some(rng, lambda: {
            "PartitionIndex": w.partition(chosen), "CurrentLeaderEpoch": w.leader_epoch(),
            "Timestamp": one_of(rng, (-1, 4), (-2, 4), (-3, 2), (-4, 1), (-5, 1), (-6, 1), (0, 1), (1_700_000_000_000, 2), (4_000_000_000_000, 1), (-7, 0.5)),
        })}

    return {
        "ReplicaId": one_of(rng, (-1, 12), (-2, 1), (1, 1), (5, 0.5)), "IsolationLevel": one_of(rng, (0, 4), (1, 4), (2, 0.3)),
        "Topics": some(rng, topic, most=2), "TimeoutMs": 5000,
    }


def metadata(w, version):
    rng = w.rng

    def topic():
        chosen = w.topic(internal=0.05)
        by_id = version >= 10 and rng.random() < 0.4
        return {"TopicId": chosen["id"] if by_id else ZERO, "Name": None if by_id and rng.random() < 0.9 else chosen["name"]}

    return {
        "Topics": None if version >= 1 and rng.random() < 0.1 else some(rng, topic),
        "AllowAutoTopicCreation": rng.random() < 0.2, "IncludeClusterAuthorizedOperations": rng.random() < 0.3, "IncludeTopicAuthorizedOperations": rng.random() < 0.3,
    }


ZERO = {"hex": "00" * 16}


def create_topics(w, version):
    rng = w.rng

    def topic():
        name = one_of(rng, (w.new_name(), 14), (w.topic()["name"], 2), ("", 0.5), ("bad name", 0.5), ("..", 0.3), ("x" * 250, 0.5), ("__consumer_offsets", 0.3))
        assigned = rng.random() < 0.15
        partitions = one_of(rng, (-1, 2), (1, 3), (3, 3), (0, 0.7), (-3, 0.4), (10001, 0.3))
        factor = one_of(rng, (1, 6), (-1, 3), (0, 0.5), (3, 0.7), (-2, 0.4))
        rows = [{"PartitionIndex": index, "BrokerIds": one_of(rng, ([1], 8), ([9], 1), ([1, 1], 1), ([], 1))} for index in one_of(rng, ([0, 1], 4), ([0], 2), ([0, 0], 1), ([1, 2], 1))]
        return {
            "Name": name, "NumPartitions": -1 if assigned and rng.random() < 0.8 else partitions, "ReplicationFactor": -1 if assigned and rng.random() < 0.8 else factor,
            "Assignments": rows if assigned else [], "Configs": [] if rng.random() < 0.6 else some(rng, lambda: setting(w, 2)),
        }

    return {"Topics": some(rng, topic, most=2), "timeoutMs": 20000, "validateOnly": rng.random() < 0.25}


# By the type of a setting, what else one could say.
VALUES = {
    1: ["true", "false", "maybe", "TRUE"], 2: ["x", "", "none"], 3: ["0", "1", "-1", "-2", "1.5", "x", "2147483648", " 7 "], 4: ["0", "1", "-1", "32768", "x"],
    5: ["0", "1", "-1", "-2", "x", "9223372036854775808"], 6: ["0", "0.5", "1", "-1", "2", "x"], 7: ["", "a", "a,a", "delete", " "], 8: ["no.such.Class", ""], 9: ["secret", ""],
}


def setting(w, kind, operation=False):
    """A setting that may fit the kind of resource: of those above, or any that Kafka told of."""
    learnt = w.settings.get(kind)
    if learnt and w.rng.random() < 0.7:
        name = w.rng.choice(sorted(learnt))
        type_, usual = learnt[name]
        value = one_of(w.rng, (usual, 4), (w.rng.choice(VALUES.get(type_, VALUES[2])), 8), (None, 0.5))
    else:
        table = CONFIGS.get(kind, TOPIC_CONFIGS)
        name = w.rng.choice(list(table))
        value = one_of(w.rng, (table[name][0], 5), (w.rng.choice(table[name]), 4), (None, 0.7))
    out = {"Name": name, "Value": value}
    if operation:
        out["ConfigOperation"] = one_of(w.rng, (0, 6), (1, 3), (2, 2), (3, 2), (4, 0.4), (-1, 0.3))
    return out


def resource(w, writing=False):
    """(type, name) of what has settings."""
    rng = w.rng
    kind = one_of(rng, (2, 8), (4, 3), (32, 2), (16, 1), (8, 0 if writing else 0.5), (0, 0.3), (1, 0.3), (77, 0.3))
    names = {
        2: lambda: w.topic(internal=0 if writing else 0.1)["name"], 4: lambda: one_of(rng, ("1", 5), ("", 2), ("9", 1), ("x", 1)),
        32: lambda: one_of(rng, (w.group(), 5), ("", 1)), 16: lambda: one_of(rng, (f"metrics-{w.number}", 5), ("", 1)),
    }
    return kind, names.get(kind, lambda: "1")()


def describe_configs(w, version):
    rng = w.rng

    def row():
        kind, name = resource(w)
        keys = [rng.choice(list(CONFIGS.get(kind, TOPIC_CONFIGS))) for _ in range(rng.randint(1, 3))]
        return {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": one_of(rng, (keys, 5), (None, 3), ([], 1))}

    return {"Resources": some(rng, row), "IncludeSynonyms": rng.random() < 0.5, "IncludeDocumentation": rng.random() < 0.3}


def alter_configs(w, version, operation=False):
    rng = w.rng

    def row():
        kind, name = resource(w, writing=True)
        return {"ResourceType": kind, "ResourceName": name, "Configs": some(rng, lambda: setting(w, kind, operation))}

    rows = {(one["ResourceType"], one["ResourceName"]): one for one in some(rng, row)}
    # What a broker could really be told is only looked at: most of it would change what later requests see.
    real = any(one["ResourceType"] == 4 and any(value["Name"] not in BROKER_CONFIGS for value in one["Configs"]) for one in rows.values())
    return {"Resources": list(rows.values()), "ValidateOnly": real or rng.random() < 0.3}


def topics_with(w, of, most=2, internal=0.05):
    def topic():
        chosen = w.topic(internal)
        return of(chosen)
    return some(w.rng, topic, most=most)


def numbers(w, topic):
    return [w.partition(topic) for _ in range(one_of(w.rng, (1, 6), (2, 3), (0, 0.6)))]


def member(w):
    """(member, id, generation, instance) of this connection, sometimes not its own."""
    rng, mine = w.rng, w.member()
    id_ = one_of(rng, (mine["id"], 14), ("nobody-1", 1), ("", 1))
    generation = mine["generation"] + one_of(rng, (0, 14), (1, 1), (-1, 1))
    return mine, id_, generation, one_of(rng, (mine["instance"], 10), ("static-x", 0.5))


def join_group(w, version):
    rng, mine = w.rng, w.member()
    mark = mine["line"]
    protocols = [{"Name": name, "Metadata": subscription([w.topics[0]["name"]], mark)} for name in one_of(rng, (["range", "roundrobin"], 6), (["range"], 3), (["roundrobin", "range"], 2), (["other"], 0.5), ([], 0.4))]
    return {
        "GroupId": w.group(), "SessionTimeoutMs": one_of(rng, (60000, 14), (1, 0.5), (99000000, 0.5)), "RebalanceTimeoutMs": 60000,
        "MemberId": one_of(rng, (mine["id"], 12), ("nobody-1", 0.5), ("", 0.5)), "GroupInstanceId": mine["instance"], "ProtocolType": one_of(rng, ("consumer", 14), ("connect", 0.5), ("", 0.5)),
        "Protocols": protocols, "Reason": one_of(rng, (None, 3), ("why not", 1)),
    }


def sync_group(w, version):
    rng = w.rng
    mine, id_, generation, instance = member(w)
    leads = mine["leads"] and rng.random() < 0.95
    return {
        "GroupId": w.group(), "GenerationId": generation, "MemberId": id_, "GroupInstanceId": instance,
        "ProtocolType": one_of(rng, ("consumer", 8), (None, 1), ("other", 0.5)), "ProtocolName": one_of(rng, (mine["protocol"], 8), (None, 1), ("other", 0.5)),
        "Assignments": [{"MemberId": other, "Assignment": assignment(w.topics[0]["name"], [index])} for index, other in enumerate(mine["members"])] if leads else [],
    }


def heartbeat(w, version):
    _, id_, generation, instance = member(w)
    return {"GroupId": w.group(), "GenerationId": generation, "MemberId": id_, "GroupInstanceId": instance}


def offsets_to_commit(w):
    rng = w.rng
    return topics_with(w, lambda topic: {"Name": topic["name"], "TopicId": topic["id"], "Partitions": some(rng, lambda: {
        "PartitionIndex": w.partition(topic), "CommittedOffset": one_of(rng, (rng.randint(0, 9), 9), (-1, 1), (-5, 0.5)),
        "CommittedLeaderEpoch": one_of(rng, (-1, 3), (0, 2)), "CommittedMetadata": one_of(rng, ("", 4), (None, 2), ("note", 3), ("m" * 5000, 0.5)),
    })}, internal=0.02)


def offset_commit(w, version):
    rng = w.rng
    _, id_, generation, instance = member(w)
    simple = rng.random() < 0.35
    return {
        "GroupId": w.group(), "GenerationIdOrMemberEpoch": -1 if simple else generation, "MemberId": "" if simple else id_,
        "GroupInstanceId": None if simple else instance, "RetentionTimeMs": one_of(rng, (-1, 5), (1000000000, 1)), "Topics": offsets_to_commit(w),
    }


def offset_fetch(w, version):
    rng = w.rng

    def topics():
        if version >= 2 and rng.random() < 0.4:
            return None
        return topics_with(w, lambda topic: {"Name": topic["name"], "TopicId": topic["id"], "PartitionIndexes": numbers(w, topic)})

    def group():
        _, id_, generation, _ = member(w)
        plain = rng.random() < 0.7
        return {"GroupId": w.group(), "MemberId": None if plain else id_, "MemberEpoch": -1 if plain else generation, "Topics": topics()}

    return {"GroupId": w.group(), "Topics": topics(), "Groups": some(rng, group), "RequireStable": rng.random() < 0.3}


def leave_group(w, version):
    rng = w.rng
    _, id_, _, instance = member(w)
    return {"GroupId": w.group(), "MemberId": id_, "Members": some(rng, lambda: {"MemberId": one_of(rng, (id_, 5), ("", 1)), "GroupInstanceId": instance, "Reason": one_of(rng, (None, 1), ("done", 1))})}


def find_coordinator(w, version):
    rng = w.rng
    kind = one_of(rng, (0, 6), (1, 5), (2, 0.7), (3, 0.3), (-1, 0.2))
    name = lambda: w.group() if kind == 0 else w.txn_name()
    return {"Key": name(), "KeyType": kind, "CoordinatorKeys": some(rng, name)}


def init_producer_id(w, version):
    rng = w.rng
    producer = w.producer(True)
    named = rng.random() < 0.7
    id_, epoch = one_of(rng, ((-1, -1), 6), ((producer["id"], producer["epoch"]) if producer else (-1, -1), 4), ((4711, 3), 0.5), ((-1, 5), 0.3))
    return {
        "TransactionalId": w.txn_name() if named else one_of(rng, (None, 8), ("", 1)), "TransactionTimeoutMs": one_of(rng, (600000, 8), (0, 0.5), (-1, 0.5), (90000000, 0.7)),
        "ProducerId": id_, "ProducerEpoch": epoch, "Enable2Pc": False, "KeepPreparedTxn": False,
    }


def who(w):
    """(transactional id, producer id, epoch): mostly of one producer."""
    rng = w.rng
    producer = w.producer(True) or {"name": w.txn_name(), "id": 4711, "epoch": 0}
    id_ = one_of(rng, (producer["id"], 20), (4711, 0.5), (-1, 0.3))
    epoch = producer["epoch"] + one_of(rng, (0, 20), (1, 0.7), (-1, 0.7))
    return one_of(rng, (producer["name"], 20), (w.txn_name(), 0.7)), id_, max(epoch, -1)


def add_partitions(w, version):
    rng = w.rng
    rows = lambda: topics_with(w, lambda topic: {"Name": topic["name"], "Partitions": numbers(w, topic)}, internal=0.03)

    def transaction():
        name, id_, epoch = who(w)
        return {"TransactionalId": name, "ProducerId": id_, "ProducerEpoch": epoch, "VerifyOnly": rng.random() < 0.4, "Topics": rows()}

    name, id_, epoch = who(w)
    return {"Transactions": once("TransactionalId", some(rng, transaction, most=2) or [transaction()]), "V3AndBelowTransactionalId": name, "V3AndBelowProducerId": id_, "V3AndBelowProducerEpoch": epoch, "V3AndBelowTopics": rows()}


def add_offsets(w, version):
    name, id_, epoch = who(w)
    return {"TransactionalId": name, "ProducerId": id_, "ProducerEpoch": epoch, "GroupId": w.group()}


def end_txn(w, version):
    name, id_, epoch = who(w)
    return {"TransactionalId": name, "ProducerId": id_, "ProducerEpoch": epoch, "Committed": w.rng.random() < 0.6}


def txn_offset_commit(w, version):
    rng = w.rng
    name, id_, epoch = who(w)
    _, member_id, generation, instance = member(w)
    plain = rng.random() < 0.7
    return {
        "TransactionalId": name, "GroupId": w.group(), "ProducerId": id_, "ProducerEpoch": epoch, "GenerationIdOrMemberEpoch": -1 if plain else generation,
        "MemberId": "" if plain else member_id, "GroupInstanceId": None if plain else instance, "Topics": offsets_to_commit(w),
    }


def write_markers(w, version):
    rng = w.rng

    def marker():
        _, id_, epoch = who(w)
        topic = w.topic()
        return {
            "ProducerId": id_, "ProducerEpoch": max(epoch, 0), "TransactionResult": rng.random() < 0.5, "CoordinatorEpoch": 0, "TransactionVersion": one_of(rng, (0, 2), (2, 2)),
            "Topics": [{"Name": topic["name"], "PartitionIndexes": sorted(set(numbers(w, topic)))}],
        }

    return {"Markers": [marker()] if rng.random() < 0.95 else []}


def list_transactions(w, version):
    rng = w.rng
    producer = w.producer(True)
    return {
        "StateFilters": one_of(rng, ([], 4), (["Ongoing"], 2), (["CompleteCommit", "CompleteAbort"], 2), (["Bogus"], 1), (["Empty", "Empty"], 1)),
        "ProducerIdFilters": one_of(rng, ([], 5), ([producer["id"]] if producer else [4711], 2), ([4711], 1)),
        "DurationFilter": one_of(rng, (-1, 6), (100000000, 1), (-5, 0.5)), "TransactionalIdPattern": one_of(rng, (None, 4), ("", 1), (f"txn-{w.number}.*", 2), ("[", 0.5)),
    }


def acl_filter(w):
    rng = w.rng
    return {
        "ResourceTypeFilter": rng.randint(0, 6), "ResourceNameFilter": one_of(rng, (None, 1), ("x", 1)), "PatternTypeFilter": rng.randint(0, 4),
        "PrincipalFilter": one_of(rng, (None, 1), ("User:a", 1), ("nonsense", 0.3)), "HostFilter": one_of(rng, (None, 1), ("*", 1)), "Operation": rng.randint(0, 12), "PermissionType": rng.randint(0, 3),
    }


def create_acls(w, version):
    rng = w.rng
    return {"Creations": some(rng, lambda: {
        "ResourceType": rng.randint(2, 6), "ResourceName": "x", "ResourcePatternType": one_of(rng, (3, 3), (4, 2), (1, 0.5)), "Principal": one_of(rng, ("User:a", 4), ("nonsense", 0.5)),
        "Host": "*", "Operation": rng.randint(2, 12), "PermissionType": rng.randint(2, 3)})}


def quota_entity(w):
    rng = w.rng
    kind = one_of(rng, ("user", 4), ("client-id", 4), ("ip", 2), ("planet", 0.4))
    name = one_of(rng, (f"q{w.number}", 6), (None, 2), ("", 0.4)) if kind != "ip" else one_of(rng, (f"10.0.{w.number % 250}.1", 5), (None, 1), ("not an address", 1))
    return kind, name


def describe_quotas(w, version):
    rng = w.rng

    def component():
        kind, name = quota_entity(w)
        match = one_of(rng, (0, 4), (1, 2), (2, 3), (3, 0.3))
        return {"EntityType": kind, "MatchType": match, "Match": name if match == 0 else one_of(rng, (None, 6), ("x", 0.4))}

    return {"Components": some(rng, component, most=2), "Strict": rng.random() < 0.3}


def alter_quotas(w, version):
    rng = w.rng

    def entry():
        pairs = [quota_entity(w) for _ in range(one_of(rng, (1, 6), (2, 3), (0, 0.3)))]
        # A limit for everybody is never so low that it counts: how long one waits is not the same twice. One on changes of
        # topics counts for the second topic of a request, where it comes in the same moment.
        named = all(name for _, name in pairs)
        keys = [key for key in QUOTAS if named or key != "controller_mutation_rate"]
        return {
            "Entity": [{"EntityType": kind, "EntityName": name} for kind, name in pairs],
            "Ops": some(rng, lambda: {"Key": rng.choice(keys), "Value": one_of(rng, (1e9, 6), (1e12, 2), (0.0, 0.5 * named), (-1.0, 0.5), (1e9 + 0.5, 0.5)), "Remove": rng.random() < 0.25}),
        }

    return {"Entries": some(rng, entry, most=2), "ValidateOnly": rng.random() < 0.3}


def consumer_heartbeat(w, version):
    rng, mine = w.rng, w.member()
    id_ = mine["id"] or (mine["own"] if version >= 1 or w.crowd else "")
    epoch = max(mine["generation"], 0) if mine["id"] else 0
    first = epoch == 0
    names = w.subscribed()
    pattern = f"w{w.number}-a" if w.crowd else f"w{w.number}-.*"
    assignor = ("range", 1) if w.family == "mixed" else (None, 6)
    return {
        "GroupId": w.group(), "MemberId": one_of(rng, (id_, 14), (w.stranger, 0.5), ("", 0.5)), "MemberEpoch": epoch + one_of(rng, (0, 14), (1, 0.7), (-1, 0.7), (-2, 0.4)),
        "InstanceId": mine["instance"], "RackId": one_of(rng, (None, 5), ("r1", 1)), "RebalanceTimeoutMs": 60000 if first else -1,
        "SubscribedTopicNames": names if first or rng.random() < 0.2 else None, "SubscribedTopicRegex": one_of(rng, (None, 20), (pattern, 1), ("[", 0.3)),
        "ServerAssignor": one_of(rng, assignor, ("uniform", 2 * (w.family != "mixed")), ("range", 2), ("bogus", 0.4)),
        "TopicPartitions": [] if first else one_of(rng, (None, 5), (mine.get("owned", []), 6), ([{"TopicId": w.topics[0]["id"], "Partitions": [0]}], 0.7)),
    }


def groups(w):
    return some(w.rng, lambda: one_of(w.rng, (w.group(), 8), (w.group("c"), 2), ("no-such-group", 1), ("", 0.4)))


SHAPES = {
    "Produce": produce, "Fetch": fetch, "ListOffsets": list_offsets, "Metadata": metadata, "CreateTopics": create_topics,
    "DescribeConfigs": describe_configs, "AlterConfigs": alter_configs, "IncrementalAlterConfigs": lambda w, v: alter_configs(w, v, True),
    "JoinGroup": join_group, "SyncGroup": sync_group, "Heartbeat": heartbeat, "OffsetCommit": offset_commit, "OffsetFetch": offset_fetch, "LeaveGroup": leave_group,
    "FindCoordinator": find_coordinator, "InitProducerId": init_producer_id, "AddPartitionsToTxn": add_partitions, "AddOffsetsToTxn": add_offsets, "EndTxn": end_txn,
    "TxnOffsetCommit": txn_offset_commit, "WriteTxnMarkers": write_markers, "ListTransactions": list_transactions,
    "DescribeTransactions": lambda w, v: {"TransactionalIds": some(w.rng, lambda: one_of(w.rng, (w.txn_name(), 8), ("no-such-txn", 1), ("", 0.3)))},
    "DescribeAcls": lambda w, v: acl_filter(w), "CreateAcls": create_acls, "DeleteAcls": lambda w, v: {"Filters": some(w.rng, lambda: acl_filter(w))},
    "DescribeClientQuotas": describe_quotas, "AlterClientQuotas": alter_quotas,
    "ConsumerGroupHeartbeat": consumer_heartbeat,
    "ConsumerGroupDescribe": lambda w, v: {"GroupIds": groups(w), "IncludeAuthorizedOperations": w.rng.random() < 0.3},
    "DescribeGroups": lambda w, v: {"Groups": groups(w), "IncludeAuthorizedOperations": w.rng.random() < 0.3},
    "DeleteGroups": lambda w, v: {"GroupsNames": groups(w)},
    "ListGroups": lambda w, v: {
        "StatesFilter": one_of(w.rng, ([], 5), (["Empty"], 2), (["stable"], 1), (["PreparingRebalance", "CompletingRebalance"], 1), (["Bogus"], 0.5), ([""], 0.3)),
        "TypesFilter": one_of(w.rng, ([], 5), (["classic"], 2), (["Consumer"], 1), (["share"], 0.5), (["streams", "consumer"], 0.5), (["bogus"], 0.5))},
    "OffsetDelete": lambda w, v: {"GroupId": w.group(), "Topics": topics_with(w, lambda t: {"Name": t["name"], "Partitions": [{"PartitionIndex": n} for n in numbers(w, t)]})},
    "DeleteTopics": lambda w, v: delete_topics(w, v),
    "CreatePartitions": lambda w, v: create_partitions(w, v),
    "DeleteRecords": lambda w, v: {"Topics": topics_with(w, lambda t: {"Name": t["name"], "Partitions": some(w.rng, lambda: {"PartitionIndex": w.partition(t), "Offset": one_of(w.rng, (1, 4), (0, 2), (-1, 2), (2, 2), (99, 1), (-2, 0.5))})}), "TimeoutMs": 10000},
    "OffsetForLeaderEpoch": lambda w, v: {"ReplicaId": one_of(w.rng, (-1, 5), (-2, 3), (1, 1)), "Topics": topics_with(w, lambda t: {"Topic": t["name"], "Partitions": some(w.rng, lambda: {"Partition": w.partition(t), "CurrentLeaderEpoch": w.leader_epoch(), "LeaderEpoch": one_of(w.rng, (0, 5), (1, 1), (-1, 1), (-2, 0.5))})})},
    "DescribeLogDirs": lambda w, v: {"Topics": None if w.rng.random() < 0.15 else topics_with(w, lambda t: {"Topic": t["name"], "Partitions": numbers(w, t)})},
    "DescribeProducers": lambda w, v: {"Topics": topics_with(w, lambda t: {"Name": t["name"], "PartitionIndexes": numbers(w, t)})},
    "ListPartitionReassignments": lambda w, v: {"TimeoutMs": 10000, "Topics": None if w.rng.random() < 0.3 else topics_with(w, lambda t: {"Name": t["name"], "PartitionIndexes": numbers(w, t)})},
    "DescribeTopicPartitions": lambda w, v: describe_partitions(w),
    "ListConfigResources": lambda w, v: {"ResourceTypes": one_of(w.rng, ([], 3), ([2], 2), ([4], 1), ([16], 1), ([32, 2], 1), ([77], 0.5), ([0], 0.3), ([8], 0.5))},
    "DescribeCluster": lambda w, v: {"IncludeClusterAuthorizedOperations": w.rng.random() < 0.4, "EndpointType": one_of(w.rng, (1, 6), (2, 1), (3, 0.5), (0, 0.5)), "IncludeFencedBrokers": w.rng.random() < 0.3},
    "ApiVersions": lambda w, v: {"ClientSoftwareName": one_of(w.rng, ("differ", 5), ("bad name", 1), ("", 1)), "ClientSoftwareVersion": one_of(w.rng, ("1.0", 5), ("-1", 1))},
    "DescribeUserScramCredentials": lambda w, v: {"Users": one_of(w.rng, (None, 2), ([], 1), ([{"Name": f"q{w.number}"}], 3))},
    "UpdateFeatures": lambda w, v: {
        "timeoutMs": 10000, "ValidateOnly": True, "FeatureUpdates": some(w.rng, lambda: {
            # Version 0 cannot only look.
            "Feature": "bogus.version" if v == 0 else w.rng.choice(["metadata.version", "group.version", "transaction.version", "share.version", "streams.version", "kraft.version", "bogus.version", ""]),
            "MaxVersionLevel": one_of(w.rng, (1, 3), (0, 2), (2, 2), (99, 1), (-1, 0.5), (33, 1)), "AllowDowngrade": w.rng.random() < 0.3, "UpgradeType": one_of(w.rng, (1, 4), (2, 2), (3, 1), (0, 0.5))})},
    "DescribeQuorum": lambda w, v: {"Topics": some(w.rng, lambda: {
        "TopicName": one_of(w.rng, ("__cluster_metadata", 4), (w.topic()["name"], 2)), "Partitions": [{"PartitionIndex": one_of(w.rng, (0, 6), (1, 1), (-1, 1))}]})},
    "UnregisterBroker": lambda w, v: {"BrokerId": one_of(w.rng, (7, 3), (-1, 1))},
}


def describe_partitions(w):
    rng = w.rng
    cursor = None if rng.random() < 0.6 else {"TopicName": w.topic()["name"], "PartitionIndex": one_of(rng, (0, 3), (1, 3), (-1, 1), (50, 1))}
    names = [w.topic(internal=0.05)["name"] for _ in range(rng.randint(1, 3))]
    return {"Topics": [{"Name": name} for name in names], "ResponsePartitionLimit": one_of(rng, (2000, 4), (1, 3), (2, 3), (0, 1), (-1, 1)), "Cursor": cursor}


def delete_topics(w, version):
    rng = w.rng

    def one():
        topic = w.topic()
        by_id = rng.random() < 0.5
        return {"Name": None if by_id and rng.random() < 0.95 else topic["name"], "TopicId": topic["id"] if by_id else ZERO}

    rows = some(rng, one, most=2)
    return {"Topics": rows, "TopicNames": [w.topic()["name"] for _ in rows], "TimeoutMs": 20000}


def create_partitions(w, version):
    rng = w.rng

    def one():
        topic = w.topic()
        count = topic["partitions"] + one_of(rng, (1, 5), (2, 3), (0, 1), (-1, 1))
        rows = [{"BrokerIds": one_of(rng, ([1], 5), ([9], 1), ([], 1), ([1, 1], 0.5))} for _ in range(max(count - topic["partitions"], 1))]
        return {"Name": topic["name"], "Count": one_of(rng, (count, 12), (0, 0.5), (-1, 0.5), (10500, 0.3)), "Assignments": None if rng.random() < 0.7 else rows}

    return {"Topics": some(rng, one, most=2), "TimeoutMs": 20000, "ValidateOnly": rng.random() < 0.3}
