"""What was sent and acknowledged, and the judgement of what the broker kept of it.

A batch is known by its number. For each partition the checker reads everything behind the point it has read to, and
demands: offsets without gaps, every batch sent and never twice, its bytes as they were sent, where the answer said,
the batches of a lane in their order and without holes, and every acknowledged one there.
"""


class Fault(AssertionError):
    """The broker broke a promise."""


class Sent:
    """One batch on its way, and later its place in the log."""

    __slots__ = ("number", "lane", "turn", "count", "crc", "acked", "offset", "base")

    def __init__(self, number, lane, turn, count, crc):
        self.number, self.lane, self.turn, self.count, self.crc = number, lane, turn, count, crc
        self.acked, self.offset, self.base = False, None, None


class Partition:
    """The history of one partition. `synced` lanes are those whose acknowledgement holds after a power cut."""

    def __init__(self, topic, index, retained=False, rewritten=False):
        self.topic, self.index = topic, index
        # Old segments may go; the broker may compress anew, and so change bytes.
        self.retained, self.rewritten = retained, rewritten
        self.sent = {}
        self.stored = []
        self.numbers = set()
        self.end = 0
        self.safe = 0
        self.acked = self.lost = 0
        # Retention may take records before anybody has read them.
        self.unread_may_go = False

    @property
    def name(self):
        return f"{self.topic}-{self.index}"

    def send(self, sent):
        self.sent[sent.number] = sent

    def acknowledge(self, sent, base):
        """The answer named the first offset; -1 for a duplicate whose place the broker does not know any more."""
        sent.acked = True
        self.acked += 1
        if base >= 0:
            sent.offset = base
            if sent.lane.synced:
                self.safe = max(self.safe, base + sent.count)

    def fault(self, what):
        raise Fault(f"{self.name}: {what}")

    def found(self, batch):
        """The next batch of the log."""
        if batch.base != self.end:
            self.fault(f"offset {self.end} is followed by {batch.base}: records are missing or offsets come again")
        sent = self.sent.pop(batch.number, None)
        if sent is None:
            what = "stored twice" if batch.number in self.numbers else "in the log though nobody sent it, or after it was gone"
            self.fault(f"batch {batch.number} at offset {batch.base} is {what}")
        if not self.rewritten and batch.crc != sent.crc:
            self.fault(f"batch {batch.number} at offset {batch.base} has other bytes than were sent")
        if batch.end - batch.base != sent.count:
            self.fault(f"batch {batch.number} at offset {batch.base} has {batch.end - batch.base} records, not {sent.count}")
        if sent.offset is not None and sent.offset != batch.base:
            self.fault(f"batch {batch.number} was acknowledged at offset {sent.offset} and is at {batch.base}")
        sent.lane.order(sent, self)
        sent.base = batch.base
        self.stored.append(sent)
        self.numbers.add(batch.number)
        self.end = batch.end

    def complete(self, cut):
        """Everything up to the log's end was read: what is acknowledged and not found is lost. After a power cut only
        synced promises hold. Lanes that do not send again give up what is not there."""
        if self.end < self.safe:
            self.fault(f"the log ends at {self.end}, synced and acknowledged was {self.safe}")
        for sent in list(self.sent.values()):
            if sent.acked and (sent.lane.synced or not cut):
                self.fault(f"batch {sent.number} (lane {sent.lane.name}, acknowledged at {sent.offset}) is lost; the log ends at {self.end}")
            if not sent.lane.repeats(cut):
                self.lost += sent.acked
                sent.lane.void.add(sent.turn)
                del self.sent[sent.number]

    def roll_back(self):
        """Before the check after a power cut: what is not synced may be gone though it was seen, so it is read again."""
        while self.stored and self.stored[-1].base >= self.safe:
            sent = self.stored.pop()
            self.numbers.discard(sent.number)
            self.sent[sent.number] = sent
            sent.lane.last = sent.turn - 1
            self.end = sent.base

    def skip_to(self, start):
        """Retention took what lies before `start`."""
        if start > 0 and not self.retained:
            self.fault(f"the log begins at {start} though nothing may be deleted")
        if start <= self.end:
            return
        if not self.unread_may_go:
            self.fault(f"the log begins at {start}, beyond what was read ({self.end})")
        self.end = start
        for sent in list(self.sent.values()):
            sent.lane.last = None
            if sent.offset is not None and sent.offset + sent.count <= start:
                del self.sent[sent.number]


class Commits:
    """The committed offsets of one group on one partition."""

    def __init__(self, group, topic, partition):
        self.group, self.topic, self.partition = group, topic, partition
        self.sent = self.acked = self.seen = -1

    def check(self, offset):
        """The coordinator's answer must lie between the last acknowledged and the last sent, and never go back."""
        low = max(self.acked, self.seen)
        if not low <= offset <= self.sent:
            raise Fault(f"group {self.group} on {self.topic}-{self.partition}: committed offset is {offset}, outside {low}..{self.sent}")
        self.seen = offset
