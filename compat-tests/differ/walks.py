"""Sequences of requests about a few topics, groups and producers of their own, from one seed each."""

import copy
import random

from differ import guess, nodes, shapes, share, streams
from differ.driver import CALM, MAY_WAIT
from differ.mapping import Mapping
from differ.shapes import ZERO, one_of
from differ.twist import twist
from harness.raw import _holds as holds

# What belongs together: (requests, weight). `all` is every API that both brokers offer.
FAMILIES = {
    "topics": {
        "CreateTopics": 5, "DeleteTopics": 2, "CreatePartitions": 3, "Metadata": 3, "DescribeTopicPartitions": 3, "DescribeConfigs": 3, "AlterConfigs": 2,
        "IncrementalAlterConfigs": 5, "DescribeLogDirs": 1, "ListOffsets": 1, "Produce": 2, "ListPartitionReassignments": 1, "ListConfigResources": 1, "DeleteRecords": 1,
    },
    "data": {"Produce": 8, "Fetch": 7, "ListOffsets": 5, "OffsetForLeaderEpoch": 2, "DeleteRecords": 3, "DescribeProducers": 2, "InitProducerId": 1.5, "Metadata": 1, "DescribeLogDirs": 1},
    "group": {
        "JoinGroup": 6, "SyncGroup": 5, "Heartbeat": 3, "OffsetCommit": 4, "OffsetFetch": 3, "LeaveGroup": 1.5, "DescribeGroups": 3, "ListGroups": 1.5,
        "DeleteGroups": 1, "OffsetDelete": 1.5, "FindCoordinator": 1, "DescribeConfigs": 0.3,
    },
    "txn": {
        "InitProducerId": 3, "AddPartitionsToTxn": 5, "AddOffsetsToTxn": 2, "Produce": 6, "TxnOffsetCommit": 3, "EndTxn": 5, "WriteTxnMarkers": 0.7, "DescribeTransactions": 2,
        "ListTransactions": 1.5, "DescribeProducers": 1.5, "Fetch": 2, "ListOffsets": 2, "OffsetFetch": 1.5, "FindCoordinator": 0.5, "DeleteRecords": 0.5, "OffsetCommit": 0.5,
    },
    "consumer": {
        "ConsumerGroupHeartbeat": 10, "ConsumerGroupDescribe": 3, "OffsetCommit": 2, "OffsetFetch": 2, "ListGroups": 1, "DescribeGroups": 1, "DeleteGroups": 0.5, "OffsetDelete": 0.5,
        "CreatePartitions": 0.3, "TxnOffsetCommit": 0.3, "Heartbeat": 0.3, "LeaveGroup": 0.2,
    },
    "mixed": {
        "JoinGroup": 6, "SyncGroup": 5, "Heartbeat": 2, "ConsumerGroupHeartbeat": 9, "OffsetCommit": 2, "LeaveGroup": 0.7, "ConsumerGroupDescribe": 2, "DescribeGroups": 1.5,
        "ListGroups": 1, "OffsetFetch": 1,
    },
    "share": {
        "ShareGroupHeartbeat": 7, "ShareFetch": 9, "ShareAcknowledge": 6, "ShareGroupDescribe": 2, "DescribeShareGroupOffsets": 2, "AlterShareGroupOffsets": 0.7,
        "DeleteShareGroupOffsets": 0.5, "Produce": 2, "ListGroups": 1, "DeleteGroups": 0.4, "DeleteRecords": 0.4, "DescribeGroups": 0.3, "ConsumerGroupDescribe": 0.2,
        "ReadShareGroupStateSummary": 0.5, "OffsetCommit": 0.2, "OffsetFetch": 0.2,
    },
    "sharestate": {
        "InitializeShareGroupState": 3, "WriteShareGroupState": 6, "ReadShareGroupState": 4, "ReadShareGroupStateSummary": 3, "DeleteShareGroupState": 1,
    },
    "streams": {
        "StreamsGroupHeartbeat": 10, "StreamsGroupDescribe": 3, "OffsetCommit": 1.5, "OffsetFetch": 1, "ListGroups": 1, "DeleteGroups": 0.4, "OffsetDelete": 0.3,
        "DescribeGroups": 0.3, "StreamsGroupTopologyDescriptionUpdate": 0.5, "Metadata": 0.3,
    },
    "cluster": {
        "ElectLeaders": 3, "AlterPartitionReassignments": 3, "ListPartitionReassignments": 2, "AlterReplicaLogDirs": 3, "DescribeLogDirs": 2, "DescribeQuorum": 1.5,
        "UpdateFeatures": 3, "UnregisterBroker": 1, "DescribeCluster": 1, "ListConfigResources": 1.5, "DescribeTopicPartitions": 2, "ApiVersions": 1, "CreatePartitions": 1,
    },
    "configs": {
        "DescribeConfigs": 4, "IncrementalAlterConfigs": 8, "AlterConfigs": 3, "ListConfigResources": 2, "CreateTopics": 2,
    },
    "telemetry": {"GetTelemetrySubscriptions": 4, "PushTelemetry": 5, "IncrementalAlterConfigs": 1},
    "quotas": {"AlterClientQuotas": 3, "DescribeClientQuotas": 3, "DescribeConfigs": 1, "IncrementalAlterConfigs": 1},
    "all": {},
}
# A family is for brokers that offer this.
NEEDS = {
    "consumer": "ConsumerGroupHeartbeat", "mixed": "ConsumerGroupHeartbeat", "share": "ShareGroupHeartbeat", "sharestate": "WriteShareGroupState", "streams": "StreamsGroupHeartbeat", "telemetry": "PushTelemetry",
}
SHAPES = {**shapes.SHAPES, **share.SHAPES, **streams.SHAPES, **nodes.SHAPES}
# Each member has a connection of its own.
MEMBERS = ("consumer", "share", "streams")
CLASSIC = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
# After these both brokers are given the time to see what was decided.
DECIDES = ("CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs", "AlterClientQuotas", "UpdateFeatures", "Metadata")
LINES = ("a", "b", "c")
BARRIER = "differ-barrier"


def pruned(value, layout, fields=None):
    """Without what this version does not have."""
    out = {}
    for field in fields or layout.schema["fields"]:
        name = field["name"]
        if name not in value or not holds(field["versions"], layout.version):
            continue
        inner, content = Mapping.inner(field, layout), value[name]
        if inner and isinstance(content, list):
            content = [pruned(item, layout, inner) for item in content]
        elif inner and isinstance(content, dict):
            content = pruned(content, layout, inner)
        out[name] = content
    return out


class Walk:
    def __init__(self, driver, seed, number, family):
        self.driver, self.number, self.family = driver, number, family
        self.rng = random.Random(f"{seed}/{number}/{family}")
        driver.walk = number
        driver.tape.append({"walk": number})
        self.offers = driver.offers
        self.topics = [{"name": f"w{number}-{letter}", "id": ZERO, "partitions": count} for letter, count in (("a", 3), ("b", 1))]
        self.names = 0
        self.session = (0, 0)
        self.producers, self.members = {}, {}
        self.line = "main"
        self.sharers, self.processes, self.plan, self.state_epoch = {}, [], None, 0
        self.folder, self.telemetry = None, {"ClientInstanceId": ZERO, "SubscriptionId": 0}
        self.settings = {}
        self.stranger = share.named(self.rng, "nobody", 3)
        # A group of several reads one topic: in which order Kafka goes through many depends on their ids.
        self.crowd = self.rng.random() < 0.6

    # What shapes ask for.

    def topic(self, internal=0.0):
        if self.rng.random() < internal:
            return {"name": self.rng.choice(["__consumer_offsets", "__transaction_state"]), "id": ZERO, "partitions": 4, "ends": 0}
        if self.rng.random() < 0.1:
            return {"name": one_of(self.rng, ("no-such-topic", 6), ("", 1), ("not valid!", 1)), "id": {"hex": "6b" * 16}, "partitions": 1}
        return self.rng.choice(self.topics)

    def partition(self, topic):
        return one_of(self.rng, (self.rng.randrange(max(topic["partitions"], 1)), 20), (topic["partitions"], 1), (-1, 0.7))

    def offset(self, _topic):
        return one_of(self.rng, (0, 6), (1, 3), (self.rng.randint(0, 5), 4), (99, 1), (-1, 0.7))

    def leader_epoch(self):
        return one_of(self.rng, (-1, 10), (0, 8), (7, 1), (-2, 0.5))

    def new_name(self):
        self.names += 1
        return f"w{self.number}-new{self.names}"

    def group(self, letter="g"):
        return one_of(self.rng, (f"w{self.number}-{letter}", 14), ("no-such-group", 0.6), ("", 0.4))

    def txn_name(self):
        return one_of(self.rng, (f"txn-{self.number}-a", 9), (f"txn-{self.number}-b", 4), ("no-such-txn", 0.6))

    def producer(self, transactional):
        mine = [producer for producer in self.producers.values() if bool(producer["name"]) == transactional]
        if not mine or (not transactional and self.rng.random() < 0.6):
            return None
        return self.rng.choice(mine)

    def member(self):
        line = self.line if self.line in LINES else "a"
        if line not in self.members:
            instance = f"static-{self.number}-{line}" if self.rng.random() < 0.25 else None
            mixed = self.family == "mixed"
            own = share.named(self.rng, f"{share.LAST if mixed else 'member'}-{self.number}", LINES.index(line) + (13 if mixed else 0))
            self.members[line] = {"line": line, "id": "", "generation": -1, "instance": instance, "own": own, "leads": False, "protocol": "range", "members": []}
        return self.members[line]

    def sharer(self):
        """What a member of a share group or of a streams group knows; its id it makes for itself."""
        line = self.line if self.line in LINES else "a"
        if line not in self.sharers:
            self.sharers[line] = {
                "line": line, "id": share.uuid(self.rng, LINES.index(line)), "epoch": 0, "session": 0, "held": {}, "tasks": {}, "endpoints": 0,
                "instance": f"static-{self.number}-{line}" if self.rng.random() < 0.2 else None, "process": self.process(line),
            }
        return self.sharers[line]

    def process(self, line):
        """Two members of a streams group may be of one process."""
        if not self.processes:
            self.processes = [share.named(self.rng, f"process-{self.number}", slot) for slot in range(len(LINES))]
        return self.processes[max(LINES.index(line) - self.rng.randint(0, 1), 0)]

    def subscribed(self, most=2):
        """Names of topics that a member reads."""
        return [topic["name"] for topic in self.topics[: 1 if self.crowd else self.rng.randint(1, most)]]

    # The walk itself.

    def prepare(self, name=""):
        """The topics and some records: asked for as everything else."""
        rows = [{"Name": topic["name"], "NumPartitions": topic["partitions"], "ReplicationFactor": 1, "Assignments": [], "Configs": []} for topic in self.topics]
        self.ask("CreateTopics", self.low_or_high("CreateTopics"), {"Topics": rows, "timeoutMs": 20000, "validateOnly": False})
        self.ask("Metadata", 12, {"Topics": [{"TopicId": ZERO, "Name": topic["name"]} for topic in self.topics], "AllowAutoTopicCreation": False})
        if self.family == "share" or name.startswith("Share"):
            earliest = {"Name": "share.auto.offset.reset", "ConfigOperation": 0, "Value": "earliest"}
            self.ask("IncrementalAlterConfigs", 1, {"Resources": [{"ResourceType": 32, "ResourceName": f"w{self.number}-g", "Configs": [earliest]}], "ValidateOnly": False})
        if self.family in ("configs", "cluster"):
            resources = [(2, self.topics[0]["name"]), (4, "1"), (4, ""), (32, f"w{self.number}-g"), (16, f"metrics-{self.number}")]
            rows = [{"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": None} for kind, name in resources]
            self.ask("DescribeConfigs", 4, {"Resources": rows, "IncludeSynonyms": True, "IncludeDocumentation": True})
            self.ask("DescribeLogDirs", 4, {"Topics": [{"Topic": self.topics[0]["name"], "Partitions": [0]}]})
        if self.family == "telemetry":
            settings = [{"Name": name, "ConfigOperation": 0, "Value": value} for name, value in (("metrics", "*"), ("interval.ms", "3600000"))]
            self.ask("IncrementalAlterConfigs", 1, {"Resources": [{"ResourceType": 16, "ResourceName": f"metrics-{self.number}", "Configs": settings}], "ValidateOnly": False})
            self.ask("GetTelemetrySubscriptions", 0, {"ClientInstanceId": ZERO})
        if self.family in ("data", "topics", "all", "txn", "share"):
            for topic in self.topics:
                batch = {"records": [("k", "one"), ("k", "two"), (None, "three")]}
                self.ask("Produce", 9, {"Acks": -1, "TimeoutMs": 10000, "TopicData": [{"Name": topic["name"], "PartitionData": [{"Index": 0, "Records": {"batches": [batch]}}]}]})
        if self.family == "txn":
            for name in (f"txn-{self.number}-a", f"txn-{self.number}-b"):
                self.ask("InitProducerId", 4, {"TransactionalId": name, "TransactionTimeoutMs": 600000, "ProducerId": -1, "ProducerEpoch": -1})
        if self.family == "all" and not name.startswith(("Share", "Streams", "ConsumerGroup")):
            self.ask("InitProducerId", 4, {"TransactionalId": f"txn-{self.number}-a", "TransactionTimeoutMs": 600000, "ProducerId": -1, "ProducerEpoch": -1})
            self.ask("OffsetCommit", 8, {"GroupId": f"w{self.number}-g", "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                {"Name": self.topics[0]["name"], "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 2, "CommittedMetadata": "m"}]}]})

    def low_or_high(self, name):
        return self.rng.choice(self.offers[name])

    def sweep(self, name):
        """One request of this kind in every version."""
        low, high = self.offers[name]
        for version in range(low, high + 1):
            self.choose_line(name)
            self.one(name, version, 0.3)
        self.finish()

    def choose_line(self, name):
        """A request that may wait for others goes out on a connection where nothing waits."""
        if self.family not in ("group", "mixed") and name not in MAY_WAIT:
            return
        if all(self.driver.waits(line) for line in LINES):
            self.settle_members()
        self.line = self.rng.choice([line for line in LINES if not self.driver.waits(line)])

    def wander(self, steps):
        table = FAMILIES[self.family] or dict.fromkeys(self.offers, 1)
        names = [name for name in table if name in self.offers]
        for _ in range(steps * 2 if self.family == "mixed" else steps):
            name = self.rng.choices(names, [table[name] for name in names])[0]
            self.choose_line(name)
            if self.family in MEMBERS:
                self.line = self.rng.choice(LINES) if self.crowd else LINES[0]
            if self.family == "mixed" and not self.fits(name):
                continue
            if self.family in ("group", "mixed") and (self.family == "group" or self.member()["classic"]):
                name = self.instead(name)
            low, high = self.offers[name]
            self.one(name, self.rng.randint(low, high), 0.25)
            self.try_again()
            if self.driver.parted:
                # The two are no longer in one state: what follows would say the same again.
                break
        self.finish()

    def try_again(self):
        """A member whose id Kafka made leaves where that id is not before those of the others: partitions go by the order of ids."""
        for mine in self.members.values():
            group = mine.pop("unlucky", None)
            if group is not None and mine["id"]:
                self.leave(group, mine)

    def fits(self, name):
        """Whether this connection's member, of the old protocol or of the new, asks such a thing."""
        classic = self.member().setdefault("classic", self.line == LINES[0])
        return not (name in CLASSIC and not classic) and not (name == "ConsumerGroupHeartbeat" and classic)

    def instead(self, name):
        """A member that has heard of a rebalance joins, or asks for its part, more often than chance would have it."""
        mine = self.member()
        if mine.get("next") and self.rng.random() < 0.6:
            return mine["next"]
        return name

    def one(self, name, version, doubt):
        shape, layout = SHAPES.get(name), self.driver.apis[name].asks(version)
        request = pruned(shape(self, version), layout) if shape else guess.request(self, layout)
        while self.rng.random() < doubt:
            request = copy.deepcopy(request)
            twist(self.rng, request, self.driver.apis[name].asks(version))
        if request.get("Protocols"):
            # Kafka's code fails over a protocol that a member names twice, and answers nothing.
            request["Protocols"] = share.once("Name", request["Protocols"])
        if self.family == "mixed" and name == "ConsumerGroupHeartbeat" and not request["MemberId"]:
            # Partitions go by the order of ids, and one that the broker makes is random.
            request["MemberId"] = self.member()["own"]
        for part in (request.get("Topology") or {}).get("Subtopologies") or []:
            # Kafka's code fails over an internal topic that is named twice.
            for internal in ("StateChangelogTopics", "RepartitionSourceTopics"):
                part[internal] = shapes.once("Name", part[internal])
        if request.get("UserEndpoint") and not streams.may_begin(self, request):
            request["UserEndpoint"] = None
        self.ask(name, version, request)

    def ask(self, name, version, request):
        line = self.line
        if self.driver.waits(line):
            self.settle_members()
        outcome = self.driver.ask(name, version, request, line)
        self.learn(line, name, request, outcome)
        if name in DECIDES and outcome["outcome"] == "answer" and (name != "Metadata" or request.get("AllowAutoTopicCreation", True)):
            self.driver.settle(BARRIER)
        if name == "EndTxn" and outcome["outcome"] == "answer" and outcome["body"]["ErrorCode"] == 0:
            self.driver.ended(request["TransactionalId"])
        self.collect()
        if name in CALM and outcome["outcome"] == "answer":
            self.calm(name, version, request, outcome["body"], line)
        return outcome

    def calm(self, name, version, request, body, line):
        """Gives the group the time to decide what it decides on its own, where this member is one of it."""
        told = request.get("SubscribedTopicRegex") if name == "ConsumerGroupHeartbeat" else True
        if body["ErrorCode"] == 0 and body["MemberEpoch"] > 0 and told:
            mine = self.member() if name == "ConsumerGroupHeartbeat" else self.sharer()
            silent = {"GroupId": request["GroupId"], "MemberId": body["MemberId"] or request["MemberId"], "MemberEpoch": body["MemberEpoch"]}
            if name == "StreamsGroupHeartbeat":
                silent["EndpointInformationEpoch"] = mine["endpoints"]
            outcome = self.driver.calm(name, version, silent, line)
            self.learn(line, name, silent, outcome)

    def collect(self, seconds=0.02):
        """Answers that came meanwhile."""
        some = False
        for line in list(self.driver.open):
            taken = self.driver.take(line, seconds)
            if taken is not None:
                self.learn(line, *taken)
                some = True
        return some

    def settle_members(self):
        """Every member leaves, so that nobody waits any more."""
        group = f"w{self.number}-g"
        for _ in range(8):
            if not self.driver.open:
                break
            for line, mine in self.members.items():
                if mine["id"] and not self.driver.waits(line):
                    self.leave(group, mine)
            self.collect(0.3)
            waiting = [self.members[line]["id"] for line in self.driver.open if line in self.members]
            if waiting and not self.collect(0.3):
                for line in list(self.driver.open):
                    if line in self.members and self.members[line]["id"]:
                        self.leave(group, self.members[line])
            self.collect(0.3)
        for line in list(self.driver.open):
            self.driver.drop(line)

    def leave(self, group, mine):
        self.driver.ask("LeaveGroup", 4, {"GroupId": group, "Members": [{"MemberId": mine["id"], "GroupInstanceId": None}]}, "main")
        mine.update(id="", generation=-1, leads=False, next=None)

    def finish(self):
        if self.driver.open:
            self.settle_members()
        for mine in self.members.values():
            if mine["id"] and mine.get("consumes"):
                self.driver.ask("ConsumerGroupHeartbeat", self.offers["ConsumerGroupHeartbeat"][1], {
                    "GroupId": f"w{self.number}-g", "MemberId": mine["id"], "MemberEpoch": -1, "InstanceId": None, "RackId": None, "RebalanceTimeoutMs": -1,
                    "SubscribedTopicNames": None, "SubscribedTopicRegex": None, "ServerAssignor": None, "TopicPartitions": None})
            elif mine["id"] and not self.driver.waits(mine["line"]):
                self.leave(f"w{self.number}-g", mine)
        for mine in self.sharers.values():
            if mine["epoch"] > 0:
                name = "StreamsGroupHeartbeat" if mine["streams"] else "ShareGroupHeartbeat"
                self.driver.ask(name, self.offers[name][1], {"GroupId": mine["group"], "MemberId": mine["id"], "MemberEpoch": -1}, mine["line"])
        self.driver.leave()

    # What is learnt from Kafka's answers.

    def learn(self, line, name, request, outcome):
        if outcome["outcome"] == "answer":
            learner = getattr(self, f"learn_{name}", None)
            if learner:
                learner(line if line in LINES else LINES[0], request, outcome["body"])

    def learn_Metadata(self, _line, _request, body):
        for row in body["Topics"]:
            for topic in self.topics:
                if topic["name"] == row["Name"] and not row["ErrorCode"]:
                    topic["partitions"] = len(row["Partitions"])
                    topic["id"] = row.get("TopicId", topic["id"])

    def learn_CreateTopics(self, _line, request, body):
        if request.get("validateOnly"):
            return
        for row in body["Topics"]:
            known = next((topic for topic in self.topics if topic["name"] == row["Name"]), None)
            if row["ErrorCode"] == 0:
                count = row.get("NumPartitions", -1)
                if known is None:
                    known = {"name": row["Name"]}
                    self.topics.append(known)
                known.update(id=row.get("TopicId", ZERO), partitions=count if count > 0 else 1)

    def learn_Fetch(self, _line, _request, body):
        if body.get("SessionId"):
            self.session = (body["SessionId"], self.session[1] + 1 if self.session[0] == body["SessionId"] else 1)

    def learn_InitProducerId(self, _line, request, body):
        if body["ErrorCode"] == 0:
            name = request["TransactionalId"]
            self.producers[name or body["ProducerId"]] = {"name": name, "id": body["ProducerId"], "epoch": body["ProducerEpoch"], "sequences": {}}

    def learn_EndTxn(self, _line, request, body):
        if body["ErrorCode"] == 0 and body.get("ProducerId", -1) >= 0:
            producer = self.producers.get(request["TransactionalId"])
            if producer and (producer["id"], producer["epoch"]) != (body["ProducerId"], body["ProducerEpoch"]):
                producer.update(id=body["ProducerId"], epoch=body["ProducerEpoch"], sequences={})

    def learn_Produce(self, _line, request, body):
        ids = {topic["id"]["hex"]: topic["name"] for topic in self.topics}
        errors = {}
        for row in body["Responses"]:
            name = row.get("Name") or ids.get(row.get("TopicId", ZERO)["hex"])
            for part in row["PartitionResponses"]:
                errors[name, part["Index"]] = part["ErrorCode"]
        for row in request["TopicData"] or []:
            name = row.get("Name") or ids.get(row.get("TopicId", ZERO)["hex"])
            for part in row["PartitionData"] or []:
                if errors.get((name, part["Index"])) == 0 and part["Records"] and part["Records"].get("batches"):
                    batch = part["Records"]["batches"][0]
                    for producer in self.producers.values():
                        if producer["id"] == batch.get("ProducerId") and batch.get("sequence", -1) >= 0:
                            producer["sequences"][f"{name}/{part['Index']}"] = batch["sequence"] + len(batch["records"])

    def learn_JoinGroup(self, line, request, body):
        mine = self.members.get(line)
        if mine is None:
            return
        mine["next"] = None
        if body["ErrorCode"] == 79:
            mine.update(id=body["MemberId"], next="JoinGroup")
        elif body["ErrorCode"] == 0:
            mine.update(
                id=body["MemberId"], generation=body["GenerationId"], leads=body["Leader"] == body["MemberId"], protocol=body["ProtocolName"],
                members=[row["MemberId"] for row in body["Members"]], next="SyncGroup")
        elif body["ErrorCode"] in (22, 25, 82):
            mine.update(id="", generation=-1, leads=False, next="JoinGroup")
        if self.family == "mixed" and body["ErrorCode"] in (0, 79) and not share.comes_first(body["MemberId"]):
            mine["unlucky"] = request["GroupId"]

    def learn_SyncGroup(self, line, _request, body):
        if line in self.members:
            self.members[line]["next"] = "JoinGroup" if body["ErrorCode"] == 27 else None

    def learn_ConsumerGroupHeartbeat(self, line, _request, body):
        mine = self.members.get(line)
        if mine is None:
            return
        if body["ErrorCode"] == 0:
            mine.update(id=body["MemberId"] or mine["id"], generation=body["MemberEpoch"], consumes=True)
            if body.get("Assignment"):
                mine["owned"] = [{"TopicId": row["TopicId"], "Partitions": row["Partitions"]} for row in body["Assignment"]["TopicPartitions"]]
            if body["MemberEpoch"] < 0:
                mine.update(id="", generation=0, owned=[])
        elif body["ErrorCode"] in (25, 110, 111):
            mine.update(id="", generation=0, owned=[])

    def learn_ShareGroupHeartbeat(self, line, request, body):
        mine = self.sharers.get(line)
        if mine is None or request["MemberId"] != mine["id"]:
            return
        if body["ErrorCode"] == 0:
            mine.update(epoch=body["MemberEpoch"], group=request["GroupId"], streams="EndpointInformationEpoch" in body)
            for kind in ("ActiveTasks", "StandbyTasks", "WarmupTasks"):
                if body.get(kind) is not None:
                    mine["tasks"][kind] = body[kind]
            mine["endpoints"] = body.get("EndpointInformationEpoch", 0)
        elif body["ErrorCode"] in (25, 110, 111):
            mine["epoch"] = 0
        if mine["epoch"] <= 0:
            mine.update(tasks={}, endpoints=0)

    learn_StreamsGroupHeartbeat = learn_ShareGroupHeartbeat

    def learn_ShareFetch(self, line, request, body):
        mine = self.sharers.get(line)
        if mine is None or request["MemberId"] != mine["id"]:
            return
        names = {topic["id"]["hex"]: topic["name"] for topic in self.topics}
        self.learn_session(mine, request, body)
        for row in body["Responses"]:
            for part in row["Partitions"]:
                held = mine["held"].setdefault((names.get(row["TopicId"]["hex"]), part["PartitionIndex"]), [])
                held += [(batch["FirstOffset"], batch["LastOffset"]) for batch in part.get("AcquiredRecords", [])]

    def learn_session(self, mine, request, body):
        """The next epoch of the session, and that what was acknowledged is no longer held."""
        if body["ErrorCode"] in (122, 123):
            mine.update(session=0, held={})
        elif body["ErrorCode"] == 0:
            mine["session"] = request["ShareSessionEpoch"] + 1
            if mine["session"] == 0:
                mine["held"] = {}
        names = {topic["id"]["hex"]: topic["name"] for topic in self.topics}
        for topic in request["Topics"] or []:
            for part in topic["Partitions"] or []:
                held = mine["held"].get((names.get(topic["TopicId"]["hex"]), part["PartitionIndex"]), [])
                for batch in part["AcknowledgementBatches"] or []:
                    held[:] = [(first, last) for first, last in held if last < batch["FirstOffset"] or first > batch["LastOffset"] or batch["AcknowledgeTypes"] == [4]]

    def learn_ShareAcknowledge(self, line, request, body):
        mine = self.sharers.get(line)
        if mine is not None and request["MemberId"] == mine["id"]:
            self.learn_session(mine, request, body)

    def learn_InitializeShareGroupState(self, _line, request, body):
        for topic in request["Topics"] or []:
            for part in topic["Partitions"] or []:
                if 0 < part["StateEpoch"] < 100:
                    self.state_epoch = max(self.state_epoch, part["StateEpoch"])

    def learn_DescribeLogDirs(self, _line, _request, body):
        for row in body["Results"]:
            self.folder = row["LogDir"]

    def learn_GetTelemetrySubscriptions(self, _line, request, body):
        if body["ErrorCode"] == 0:
            self.telemetry["SubscriptionId"] = body["SubscriptionId"]
            if int(body["ClientInstanceId"]["hex"], 16):
                self.telemetry["ClientInstanceId"] = body["ClientInstanceId"]

    def learn_DescribeConfigs(self, _line, request, body):
        for row in body["Results"]:
            if row["ErrorCode"] == 0 and request.get("IncludeDocumentation"):
                names = {one["Name"]: (one.get("ConfigType", 2), one["Value"]) for one in row["Configs"]}
                self.settings.setdefault(row["ResourceType"], {}).update(names)

    learn_Heartbeat = learn_SyncGroup
