"""Sends each request to both sides and compares what comes back."""

import time

from differ.compare import Comparison
from differ.lines import WAITS, answered
from differ.mapping import Mapping

PATIENCE = 20
# What clients answer by asking again, at once or a moment later: a load, an end of a transaction that is still written.
TRANSIENT = {14, 15, 16, 51}
# May be asked again without a trace: where an answer comes from an image, it may be a moment old on either side.
READS = (
    "Describe", "List", "Metadata", "OffsetFetch", "FindCoordinator", "OffsetForLeaderEpoch", "ConsumerGroupDescribe", "ShareGroupDescribe",
    "StreamsGroupDescribe", "ApiVersions", "GetTelemetrySubscriptions",
)
# An answer to these may wait for other members; the group is then in one of these states.
MAY_WAIT = ("JoinGroup", "SyncGroup")
MOVING = ("PreparingRebalance", "CompletingRebalance")
# Behind these the coordinator goes on by itself: it sets up what a share group has of a partition, makes topics of a streams
# group, or looks for the topics of a pattern.
CALM = ("ShareGroupHeartbeat", "StreamsGroupHeartbeat", "ConsumerGroupHeartbeat")
# What a heartbeat tells once.
TOLD_ONCE = ("Assignment", "ActiveTasks", "StandbyTasks", "WarmupTasks", "PartitionsByUserEndpoint")


class Step:
    """One request with both outcomes."""

    def __init__(self, walk, number, line, api, version, request, kafka, ours, found):
        self.walk, self.number, self.line, self.api, self.version = walk, number, line, api, version
        self.request, self.kafka, self.ours, self.found = request, kafka, ours, found


def errors(value):
    """Every error code in an answer."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "ErrorCode":
                yield inner
            else:
                yield from errors(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from errors(inner)


def transient(outcome):
    return outcome["outcome"] == "answer" and bool(TRANSIENT & set(errors(outcome["body"])))


class Driver:
    """Kafka is asked first and Dohle after it, with its own names for the same things."""

    def __init__(self, apis, kafka, ours, known, tell):
        self.apis, self.kafka, self.ours, self.known, self.tell = apis, kafka, ours, known, tell
        self.mapping = Mapping()
        self.steps = self.requests = self.unexplained = 0
        self.walk, self.tape, self.open = 0, [], {}
        self.offers, self.walk_next, self.parted, self.trace = {}, 0, False, None

    def offered(self):
        """API name -> (lowest, highest) that both offer on this listener."""
        ranges = []
        for side in (self.kafka, self.ours):
            body = side.call("offers", self.apis["ApiVersions"], 0, {})["body"]
            ranges.append({row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in body["ApiKeys"]})
        out = {}
        for api in self.apis.values():
            if all(api.key in offers for offers in ranges):
                low, high = (choose(offers[api.key][end] for offers in ranges) for end, choose in ((0, max), (1, min)))
                first = int(api.request["validVersions"].split("-")[0].rstrip("+"))
                if max(low, first) <= high:
                    out[api.name] = (max(low, first), high)
        return out

    def ask(self, name, version, request, line="main"):
        """The outcome on Kafka's side; what differs is told. An answer that waits is `take`n later."""
        api = self.apis[name]
        self.requests += 1
        kafka, state = self.ask_one(self.kafka, line, api, version, request)
        self.tape.append({"line": line, "api": name, "version": version, "request": request, "outcome": kafka, "state": state})
        self.against(line, api, version, request, kafka, state)
        return kafka

    def against(self, line, api, version, request, kafka, state):
        """Asks Dohle the same and compares."""
        asks = api.asks(version)
        mine = self.mapping.translate(request, asks.schema["fields"], asks)
        ours, _ = self.ask_one(self.ours, line, api, version, mine, state, kafka)
        self.compare(line, api, version, request, kafka, ours, mine)

    def compare(self, line, api, version, request, kafka, ours, mine=None):
        found = self.differences(api, version, request, kafka, ours)
        turns = 0
        while found and mine is not None and api.name.startswith(READS) and turns < 8:
            time.sleep(0.05 * 2**min(turns, 4))
            turns += 1
            if self.kafka.live:
                kafka = self.kafka.call(line, api, version, request)
                self.tape[-1]["outcome"] = kafka
            ours = self.ours.call(line, api, version, mine)
            found = self.differences(api, version, request, kafka, ours)
        self.steps += 1
        if self.trace:
            self.trace(Step(self.walk, self.steps, line, api, version, request, kafka, ours, found))
        for outcome, side in ((kafka, self.kafka), (ours, self.ours)):
            if outcome["outcome"] != "answer":
                side.close(line) if outcome is not WAITS else None
        if kafka is WAITS:
            self.open[line] = (api, version, request)
        if found:
            self.unexplained += 1
            self.parted |= not api.name.startswith(READS)
            self.tell(Step(self.walk, self.steps, line, api, version, request, kafka, ours, found))

    def differences(self, api, version, request, kafka, ours):
        """What differs and is not meant to."""
        found = Comparison(self.mapping, api.answers(version)).outcomes(kafka, ours)
        return [difference for difference in found if not self.known.explains(api.name, difference, request)]

    def ask_one(self, side, line, api, version, request, state=None, kafka=None):
        """(outcome, the group's state while it waits)."""
        if not side.live:
            return side.next(line, api, version, request)
        for turn in range(60):
            side.send(line, api, version, request)
            if api.name == "Produce" and request["Acks"] == 0:
                # Nobody answers this. Whether it was taken shows in what the same connection says next.
                side.lines[line].asked = (self.apis["ApiVersions"], 0)
                side.lines[line].send(self.apis["ApiVersions"], 0, {}, side.client)
                outcome = side.receive(line, PATIENCE) or WAITS
                return ({"outcome": "no answer"} if outcome["outcome"] == "answer" else outcome), None
            if api.name in MAY_WAIT:
                outcome, state = self.moving(side, line, request, state if kafka is None or kafka["outcome"] == "waits" else None)
            else:
                outcome = side.receive(line, PATIENCE)
            if outcome is None:
                return WAITS, state
            if not transient(outcome) or (kafka is not None and transient(kafka)):
                return outcome, None
            time.sleep(min(0.01 * 2**turn, 0.2))
        return outcome, None

    def moving(self, side, line, request, state):
        """The outcome of a request that may wait for other members. It waits when the group's state says so and stays so."""
        limit, calm = time.monotonic() + PATIENCE, 0
        while time.monotonic() < limit:
            outcome = side.receive(line, 0.03 if calm == 0 else 0.15)
            if outcome is not None:
                return outcome, None
            group = {"Groups": [request["GroupId"]]}
            body = side.call("states", self.apis["DescribeGroups"], 5, group)["body"]
            now = body["Groups"][0]["GroupState"]
            calm = calm + 1 if now in MOVING and state in (None, now) else 0
            if calm == 3:
                return None, now
        return None, "nothing"

    def calm(self, name, version, request, line):
        """Heartbeats that say nothing new, on each side until the answers stay the same; what they told meanwhile is one answer."""
        api = self.apis[name]
        self.requests += 1
        kafka = self.kafka.calmed() if not self.kafka.live else self.quiet(self.kafka, line, api, version, request)
        self.tape.append({"calm": line, "api": name, "version": version, "request": request, "outcome": kafka})
        asks = api.asks(version)
        mine = self.mapping.translate(request, asks.schema["fields"], asks)
        self.compare(line, api, version, request, kafka, self.quiet(self.ours, line, api, version, mine))
        return kafka

    def quiet(self, side, line, api, version, request):
        request, told, same, last = dict(request), {}, 0, None
        begun = time.monotonic()
        limit = begun + 3
        while same < 4 and time.monotonic() < limit:
            outcome = side.call(line, api, version, request)
            if outcome["outcome"] != "answer" or outcome["body"]["ErrorCode"]:
                return outcome
            body = outcome["body"]
            told.update({name: body[name] for name in TOLD_ONCE if body.get(name) is not None})
            request["MemberEpoch"] = body["MemberEpoch"]
            if "EndpointInformationEpoch" in request:
                request["EndpointInformationEpoch"] = body["EndpointInformationEpoch"]
            now = {key: value for key, value in body.items() if key != "ThrottleTimeMs"}
            unfinished = any(row["StatusCode"] in (3, 5) for row in body.get("Status") or [])
            # Nothing is given out of a share group's partitions before each of them is set up.
            unfinished |= api.name == "ShareGroupHeartbeat" and not told.get("Assignment", {}).get("TopicPartitions") and time.monotonic() < begun + 1.5
            same, last = 0 if now != last or unfinished else same + 1, now
            time.sleep(0.02)
        return {"outcome": "answer", "body": {**body, **told}}

    def waits(self, line):
        return line in self.open

    def take(self, line, seconds=0.0):
        """The answer that this connection waits for, when Kafka has given it; else None."""
        if not self.kafka.live:
            kafka = self.kafka.taken(line)
        else:
            kafka = self.kafka.receive(line, seconds)
        if kafka is None:
            return None
        api, version, request = self.open.pop(line)
        self.tape.append({"take": line, "outcome": kafka})
        ours = self.ours.receive(line, PATIENCE) or WAITS
        self.compare(line, api, version, request, kafka, ours)
        return api.name, request, kafka

    def drop(self, line):
        """Gives up what waits on this connection."""
        self.tape.append({"drop": line})
        self.open.pop(line, None)
        for side in (self.kafka, self.ours):
            side.close(line)

    def leave(self):
        """Ends a walk: its connections are closed on both sides."""
        self.tape.append({"leave": True})
        self.parted = False
        self.open.clear()
        for side in (self.kafka, self.ours):
            side.close_all()

    def ended(self, name):
        """Waits until both brokers have written the markers of a transaction that was ended."""
        self.tape.append({"ended": name})
        for side in (self.kafka, self.ours):
            limit = time.monotonic() + PATIENCE
            while side.live and time.monotonic() < limit:
                rows = side.call("states", self.apis["DescribeTransactions"], 0, {"TransactionalIds": [name]})["body"]["TransactionStates"]
                if not rows[0]["TransactionState"].startswith("Prepare") and not transient(answered(rows[0])):
                    break
                time.sleep(0.01)

    def settle(self, name):
        """Waits until both brokers see what was decided before: two changes of a topic made for this, one after the other."""
        self.tape.append({"settle": name})
        for side in (self.kafka, self.ours):
            if side.live:
                self.barrier(side, name)

    def barrier(self, side, name):
        alter, describe = self.apis["IncrementalAlterConfigs"], self.apis["DescribeConfigs"]
        if not hasattr(side, "marks"):
            side.marks = 0
            side.call("states", self.apis["CreateTopics"], 5, {
                "Topics": [{"Name": name, "NumPartitions": 1, "ReplicationFactor": 1, "Assignments": [], "Configs": []}], "timeoutMs": 20000})
        for _ in range(2):
            side.marks += 1
            wanted = str(3600000 + side.marks)
            limit = time.monotonic() + PATIENCE
            change = {"Resources": [{"ResourceType": 2, "ResourceName": name, "Configs": [{"Name": "segment.ms", "ConfigOperation": 0, "Value": wanted}]}], "ValidateOnly": False}
            question = {"Resources": [{"ResourceType": 2, "ResourceName": name, "ConfigurationKeys": ["segment.ms"]}]}
            while side.call("states", alter, 1, change)["body"]["Responses"][0]["ErrorCode"] and time.monotonic() < limit:
                time.sleep(0.01)
            while time.monotonic() < limit:
                rows = side.call("states", describe, 4, question)["body"]["Results"][0]["Configs"]
                if rows and rows[0]["Value"] == wanted:
                    break
                time.sleep(0.005)
            else:
                raise AssertionError(f"{side.name} does not show a change of {name}")
