"""Sequences of requests about a few topics, groups and producers of their own, from one seed each."""

import copy
import random

from differ import guess, shapes
from differ.driver import MAY_WAIT
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
        "ConsumerGroupHeartbeat": 8, "ConsumerGroupDescribe": 3, "OffsetCommit": 2, "OffsetFetch": 2, "ListGroups": 1, "DescribeGroups": 1, "DeleteGroups": 0.5, "OffsetDelete": 0.5,
    },
    "quotas": {"AlterClientQuotas": 3, "DescribeClientQuotas": 3, "DescribeConfigs": 1, "IncrementalAlterConfigs": 1},
    "all": {},
}
# A family is for brokers that offer this.
NEEDS = {"consumer": "ConsumerGroupHeartbeat"}
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
            self.members[line] = {"line": line, "id": "", "generation": -1, "instance": instance, "leads": False, "protocol": "range", "members": []}
        return self.members[line]

    # The walk itself.

    def prepare(self):
        """The topics and some records: asked for as everything else."""
        rows = [{"Name": topic["name"], "NumPartitions": topic["partitions"], "ReplicationFactor": 1, "Assignments": [], "Configs": []} for topic in self.topics]
        self.ask("CreateTopics", self.low_or_high("CreateTopics"), {"Topics": rows, "timeoutMs": 20000, "validateOnly": False})
        self.ask("Metadata", 12, {"Topics": [{"TopicId": ZERO, "Name": topic["name"]} for topic in self.topics], "AllowAutoTopicCreation": False})
        if self.family in ("data", "topics", "all", "txn"):
            for topic in self.topics:
                batch = {"records": [("k", "one"), ("k", "two"), (None, "three")]}
                self.ask("Produce", 9, {"Acks": -1, "TimeoutMs": 10000, "TopicData": [{"Name": topic["name"], "PartitionData": [{"Index": 0, "Records": {"batches": [batch]}}]}]})
        if self.family == "txn":
            for name in (f"txn-{self.number}-a", f"txn-{self.number}-b"):
                self.ask("InitProducerId", 4, {"TransactionalId": name, "TransactionTimeoutMs": 600000, "ProducerId": -1, "ProducerEpoch": -1})
        if self.family == "all":
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
        if self.family != "group" and name not in MAY_WAIT:
            return
        if all(self.driver.waits(line) for line in LINES):
            self.settle_members()
        self.line = self.rng.choice([line for line in LINES if not self.driver.waits(line)])

    def wander(self, steps):
        table = FAMILIES[self.family] or dict.fromkeys(self.offers, 1)
        names = [name for name in table if name in self.offers]
        for _ in range(steps):
            name = self.rng.choices(names, [table[name] for name in names])[0]
            self.choose_line(name)
            if self.family == "consumer":
                self.line = self.rng.choice(LINES)
            if self.family == "group":
                name = self.instead(name)
            low, high = self.offers[name]
            self.one(name, self.rng.randint(low, high), 0.25)
            if self.driver.parted:
                # The two are no longer in one state: what follows would say the same again.
                break
        self.finish()

    def instead(self, name):
        """A member that has heard of a rebalance joins, or asks for its part, more often than chance would have it."""
        mine = self.member()
        if mine.get("next") and self.rng.random() < 0.6:
            return mine["next"]
        return name

    def one(self, name, version, doubt):
        shape, layout = shapes.SHAPES.get(name), self.driver.apis[name].asks(version)
        request = pruned(shape(self, version), layout) if shape else guess.request(self, layout)
        while self.rng.random() < doubt:
            request = copy.deepcopy(request)
            twist(self.rng, request, self.driver.apis[name].asks(version))
        self.ask(name, version, request)

    def ask(self, name, version, request):
        line = self.line
        if self.driver.waits(line):
            self.settle_members()
        outcome = self.driver.ask(name, version, request, line)
        self.learn(line, name, request, outcome)
        if name in DECIDES and outcome["outcome"] == "answer" and (name != "Metadata" or request.get("AllowAutoTopicCreation", True)):
            self.driver.settle(BARRIER)
        self.collect()
        return outcome

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
            if self.family == "consumer" and mine["id"]:
                self.driver.ask("ConsumerGroupHeartbeat", self.offers["ConsumerGroupHeartbeat"][1], {
                    "GroupId": f"w{self.number}-g", "MemberId": mine["id"], "MemberEpoch": -1, "InstanceId": None, "RackId": None, "RebalanceTimeoutMs": -1,
                    "SubscribedTopicNames": None, "SubscribedTopicRegex": None, "ServerAssignor": None, "TopicPartitions": None})
            elif mine["id"] and not self.driver.waits(mine["line"]):
                self.leave(f"w{self.number}-g", mine)
        self.driver.leave()

    # What is learnt from Kafka's answers.

    def learn(self, line, name, request, outcome):
        if outcome["outcome"] == "answer":
            learner = getattr(self, f"learn_{name}", None)
            if learner:
                learner(line, request, outcome["body"])

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

    def learn_SyncGroup(self, line, _request, body):
        if line in self.members:
            self.members[line]["next"] = "JoinGroup" if body["ErrorCode"] == 27 else None

    def learn_ConsumerGroupHeartbeat(self, line, _request, body):
        mine = self.members.get(line)
        if mine is None:
            return
        if body["ErrorCode"] == 0:
            mine.update(id=body["MemberId"] or "", generation=body["MemberEpoch"])
            if body["MemberEpoch"] < 0:
                mine.update(id="", generation=0)
        elif body["ErrorCode"] in (25, 110, 111):
            mine.update(id="", generation=0)

    learn_Heartbeat = learn_SyncGroup
