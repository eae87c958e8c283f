"""What may differ between two brokers, and nothing else: names that each makes for itself are mapped one to one, and what
the clock, the disk or the machine decides is masked. Each rule has its reason."""

# Made by the broker: the same thing has one name here and another there, always the same two.
MAPPED = {
    "uuid": "topics and folders get random ids",
    "MemberId": "members get random ids", "Leader": "a member's id",
    "ProducerId": "producers get the next id of a block", "V3AndBelowProducerId": "a producer's id", "ProducerIdFilters": "producers' ids",
    "SessionId": "fetch sessions get random ids", "ClusterId": "random",
    "Port": "each broker has its own port", "LogDir": "each has its own folder", "ClientInstanceId": "random", "SubscriptionId": "random",
}
# Only null, empty or zero, negative, or something is compared.
SIGN = {
    "StatusDetail": "a text, whose names are in the order of a hash map",
    "ErrorMessage": "texts are for people; that there is one is compared", "BatchIndexErrorMessage": "a text",
    "ThrottleTimeMs": "decided by load", "Documentation": "a text, ours are our own",
    "LogAppendTimeMs": "now", "TransactionStartTimeMs": "now", "LastTimestamp": "now", "StartTimestamp": "now",
    "PartitionSize": "files are preallocated and rolled at other bytes", "TotalBytes": "the disk", "UsableBytes": "the disk",
    "FinalizedFeaturesEpoch": "an offset of the metadata log, whose records need not be the same",
}


def kind_of(name, kind):
    """How a field is mapped, or None."""
    if kind == "uuid":
        return "uuid"
    if name in ("V3AndBelowProducerId", "ProducerIdFilters"):
        return "ProducerId"
    if name == "Leader" and kind == "string":
        return "MemberId"
    if name == "Path":
        return "LogDir"
    return name if name in MAPPED and name != "Leader" else None


def sign(value):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return (value > 0) - (value < 0)
    return value if value is None else bool(value)


class Mapping:
    """Pairs of names, Kafka's and ours, by kind."""

    def __init__(self):
        self.ours, self.theirs = {}, {}

    @staticmethod
    def key(kind, value):
        return kind, value["hex"] if isinstance(value, dict) else value

    @staticmethod
    def unset(kind, value):
        """What stands for no name, and is the same on both sides."""
        if kind == "SubscriptionId":
            return value == 0  # A checksum.
        if isinstance(value, int):
            return value < 0 or (value == 0 and kind != "ProducerId")
        return value == "" or (isinstance(value, dict) and not int(value["hex"] or "0", 16))

    def known(self, kind, value, theirs):
        return self.key(kind, value) in (self.theirs if theirs else self.ours)

    def to_ours(self, kind, value):
        return self.theirs.get(self.key(kind, value), value)

    def number(self, kind, value, theirs):
        """A name that both sides have in common, for sorting; `?` while it is not paired."""
        if self.unset(kind, value):
            return value
        if theirs:
            return self.key(kind, value) if self.known(kind, value, True) else "?"
        return self.key(kind, self.ours[self.key(kind, value)]) if self.known(kind, value, False) else "?"

    def agree(self, kind, theirs, ours):
        """Whether the two name one thing; the first time they are paired."""
        if self.unset(kind, theirs) or self.unset(kind, ours):
            return theirs == ours
        left, right = self.key(kind, theirs), self.key(kind, ours)
        if left not in self.theirs and right not in self.ours:
            self.theirs[left], self.ours[right] = ours, theirs
            return True
        return left in self.theirs and self.key(kind, self.theirs[left]) == right

    def translate(self, value, fields, layout, name=None, kind=None):
        """A request in Kafka's names, in ours. A name that neither side made is the same on both."""
        if isinstance(value, dict) and fields is not None and "hex" not in value and "batches" not in value:
            kinds = {field["name"]: field for field in fields}
            return {
                key: self.translate(inner, self.inner(kinds[key], layout), layout, key, kinds[key]["type"]) for key, inner in value.items()
            }
        if isinstance(value, dict) and "batches" in value:
            return {"batches": [{**batch, "ProducerId": self.paired("ProducerId", batch.get("ProducerId", -1))} for batch in value["batches"]]}
        if isinstance(value, list):
            return [self.translate(inner, fields, layout, name, kind.removeprefix("[]")) for inner in value]
        mapped = kind_of(name, (kind or "").removeprefix("[]"))
        if value is None or mapped is None:
            return value
        return self.paired(mapped, value)

    def paired(self, kind, value):
        if not self.unset(kind, value) and not self.known(kind, value, True) and not self.known(kind, value, False):
            self.agree(kind, value, value)
        return self.to_ours(kind, value)

    @staticmethod
    def inner(field, layout):
        base = field["type"].removeprefix("[]")
        return field.get("fields") or layout.schema["structs"].get(base)
