"""Two answers, field by field."""

from differ import batches
from differ.mapping import SIGN, Mapping, kind_of, sign
from harness.raw import _holds as holds


class Difference:
    """One place where two answers differ."""

    def __init__(self, path, kafka, ours):
        self.path, self.kafka, self.ours = path, kafka, ours

    def __str__(self):
        return f"{self.path}: Kafka {shown(self.kafka)}, Dohle {shown(self.ours)}"


def shown(value):
    text = batches.text(value)
    return text if len(text) < 600 else text[:600] + "..."


class Comparison:
    def __init__(self, mapping, layout):
        self.mapping, self.layout = mapping, layout
        self.found = []

    def outcomes(self, kafka, ours):
        if kafka["outcome"] != ours["outcome"]:
            self.differ("", told(kafka), told(ours))
        elif kafka["outcome"] == "answer":
            self.fields(self.layout.schema["fields"], kafka["body"], ours["body"], "")
        return self.found

    def differ(self, path, kafka, ours):
        self.found.append(Difference(path, kafka, ours))

    def fields(self, fields, kafka, ours, path):
        # Where the latest record is one of two that were written now, it is not told which has the later time.
        latest = now(kafka.get("Timestamp")) and now(ours.get("Timestamp"))
        for field in fields:
            name = field["name"]
            if latest and name in ("Timestamp", "Offset"):
                continue
            if not holds(field["versions"], self.layout.version) and name not in kafka and name not in ours:
                continue
            at = f"{path}.{name}" if path else name
            default = plain(self.layout.default(field))
            self.value(field, field["type"], kafka.get(name, default), ours.get(name, default), at)

    def value(self, field, kind, kafka, ours, path):
        name = field["name"]
        mapped = kind_of(name, kind.removeprefix("[]"))
        if (kafka is None) != (ours is None):
            self.differ(path, kafka, ours)
        elif kafka is None:
            return
        elif name in SIGN:
            if name != "ThrottleTimeMs" and sign(kafka) != sign(ours):
                self.differ(path, kafka, ours)
        elif name == "Partitions" and self.layout.schema["name"] in SHARED:
            if len(set(kafka)) != len(set(ours)):
                self.differ(path, kafka, ours)
        elif kind.startswith("[]"):
            self.items(field, kind[2:], kafka, ours, path)
        elif mapped:
            if not self.mapping.agree(mapped, kafka, ours):
                self.differ(path, kafka, ours)
        elif kind == "records":
            self.stored(kafka, ours, path)
        elif isinstance(kafka, dict) and "hex" not in kafka:
            self.fields(Mapping.inner(field, self.layout), kafka, ours, path)
        elif kafka != ours:
            self.differ(path, kafka, ours)

    def stored(self, kafka, ours, path):
        left, right = kafka["stored"], ours["stored"]
        # How much is in one answer is not promised: Kafka's ends where a segment ends.
        if bool(left) != bool(right):
            self.differ(path, [batch["base"] for batch in left], [batch["base"] for batch in right])
            return
        for theirs, mine in zip(left, right):
            for name, value in theirs.items():
                same = self.mapping.agree("ProducerId", value, mine[name]) if name == "ProducerId" else value == mine[name] or (now(value) and now(mine[name]))
                if not same:
                    self.differ(f"{path}[{theirs['base']}].{name}", value, mine[name])

    def items(self, field, kind, kafka, ours, path):
        """Kafka's order is mostly that of its hash maps, and clients read these lists into maps: neither the order is compared
        nor whether what was asked twice is answered once or twice."""
        left, right = self.ordered(field, kind, kafka, True), self.ordered(field, kind, ours, False)
        while left or right:
            if left and right and self.identity(field, kind, left[0], True) == self.identity(field, kind, right[0], False):
                at = f"{path}[{self.label(kind, left[0])}]"
                self.value({**field, "versions": "0+"}, kind, left.pop(0), right.pop(0), at)
            elif not right or (left and self.identity(field, kind, left[0], True) < self.identity(field, kind, right[0], False)):
                self.differ(f"{path}[{self.label(kind, left[0])}]", left.pop(0), "nothing")
            else:
                self.differ(f"{path}[{self.label(kind, right[0])}]", "nothing", right.pop(0))

    def ordered(self, field, kind, items, theirs):
        """Sorted by who it is, then by all else that is not masked; what is the same is there once, and what has one name and
        lists of its own (a topic with its partitions) is put together."""
        joined = {}
        for item in items:
            name = self.identity(field, kind, item, theirs)
            rows = joined.setdefault(name, [])
            if rows and isinstance(item, dict) and name != "[]" and '"?"' not in name and mergeable(rows[0], item):
                rows[0] = {key: value + item[key] if isinstance(value, list) else value for key, value in rows[0].items()}
            else:
                rows.append(item)
        out = []
        for name in sorted(joined):
            seen = {}
            for item in joined[name]:
                text = batches.text(self.canonical(field, kind, item, theirs))
                if text not in seen or '"?"' in text:
                    seen.setdefault(text, []).append(item)
            out += [item for text in sorted(seen) for item in seen[text]]
        return [item for item in out if not hollow(item)]

    def identity(self, field, kind, item, theirs):
        if not isinstance(item, dict) or "hex" in item:
            return batches.text(self.canonical(field, kind, item, theirs))
        parts = []
        for inner in Mapping.inner({**field, "type": kind}, self.layout):
            if inner["name"] in item and names_it(inner):
                parts.append(self.canonical(inner, inner["type"], item[inner["name"]], theirs))
        return batches.text(parts)

    @staticmethod
    def label(kind, item):
        if isinstance(item, dict) and "hex" not in item:
            return ",".join(str(item[name]) for name in LABELS if item.get(name) not in (None, "") and not isinstance(item[name], dict))
        return "" if isinstance(item, dict) else item

    def canonical(self, field, kind, value, theirs):
        name = field["name"]
        if value is None:
            return None
        if name in SIGN:
            return 0
        if kind.startswith("[]"):
            return sorted((self.canonical({**field, "type": kind[2:]}, kind[2:], item, theirs) for item in value), key=batches.text)
        mapped = kind_of(name, kind)
        if mapped:
            return self.mapping.number(mapped, value, theirs)
        if isinstance(value, dict) and "hex" not in value and "stored" not in value:
            return [self.canonical(inner, inner["type"], value[inner["name"]], theirs) for inner in Mapping.inner({**field, "type": kind}, self.layout) if inner["name"] in value]
        return value


# Which of a topic's partitions a member of a share group gets follows in Kafka from a hash of the topic's id, which is random
# on either side: only how many are compared.
SHARED = ("ShareGroupHeartbeatResponse", "ShareGroupDescribeResponse")
LABELS = ("ResourceType", "Name", "Topic", "TopicName", "GroupId", "ResourceName", "TransactionalId", "PartitionIndex", "Partition", "Index", "ApiKey", "EntityName")
# Beside the schema's own keys, what tells the items of a list apart.
IDENTITIES = {*LABELS, "TopicId", "MemberId", "Key", "ConfigName", "EntityType", "NodeId", "BrokerId", "GroupInstanceId", "ClientId", "Type", "ProducerId"}


def names_it(field):
    return field.get("mapKey") or field["name"] in IDENTITIES


def hollow(item):
    """Whether an item says nothing but its name, as a topic without partitions: Kafka leaves some of them out."""
    lists = [value for value in item.values() if isinstance(value, list)] if isinstance(item, dict) else []
    rest = {name for name, value in item.items() if not isinstance(value, list)} if lists else set()
    return bool(lists) and not any(lists) and rest <= {"Name", "Topic", "TopicName", "TopicId", "ProducerId"}


def now(value):
    """Whether a time is one of this run: requests have times of 2023 and of 2096."""
    return isinstance(value, int) and not isinstance(value, bool) and 1_750_000_000_000 < value < 3_000_000_000_000


def mergeable(left, right):
    """Whether two items differ in lists alone, and have some."""
    lists = [name for name, value in left.items() if isinstance(value, list)]
    return bool(lists) and all(isinstance(right.get(name), list) if name in lists else right.get(name) == value for name, value in left.items())


def plain(value):
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def told(outcome):
    return outcome["body"] if outcome["outcome"] == "answer" else {k: v for k, v in outcome.items()}
