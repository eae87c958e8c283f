"""The judgement of a history of transactions: what writers were told, and what readers saw.

Demanded: every record of an acknowledged commit is seen (lost), once (doubled), and all of a transaction or nothing of it
(torn), over partitions and the offsets of its group; nothing of an aborted, refused or abandoned one (aborted and seen);
a writer's records in a partition in the order of sending (out of order); what was seen stays (taken back); a group's
committed offset never lower than before (moved back).
"""

from collections import defaultdict

from crash.history import Fault

# How a transaction ended, as far as its writer knows.
OPEN, ASKED, COMMITTED, ABORTED = "open", "commit asked for", "committed", "aborted"


class Transaction:
    """One transaction of one writer; its records are named after it."""

    def __init__(self, writer, number):
        self.writer, self.number = writer, number
        self.records = []  # (topic, partition), in the order of sending
        self.offset = None  # what it commits for the writer's group
        self.state = OPEN

    def value(self, index):
        return f"{self.writer}/{self.number}/{index}"


class History:
    """Everything that happened."""

    def __init__(self):
        self.transactions = defaultdict(dict)
        self.seen = defaultdict(dict)
        self.moves = defaultdict(list)

    def begin(self, writer, number):
        transaction = self.transactions[writer][number] = Transaction(writer, number)
        return transaction

    def see(self, place, offset, value):
        """A reader of committed records was given this."""
        before = self.seen[place].setdefault(offset, value)
        if before != value:
            raise Fault(f"{place} offset {offset}: {value} is seen where {before} was seen: taken back")

    def offset(self, group, offset):
        """The committed offset of a writer's group at one moment."""
        moves = self.moves[group]
        if moves and offset < moves[-1]:
            raise Fault(f"group {group}: the committed offset moved back from {moves[-1]} to {offset}")
        moves.append(offset)

    def find(self, place, value):
        writer, number, index = value.rsplit("/", 2)
        transaction = self.transactions.get(writer, {}).get(int(number))
        if transaction is None or int(index) >= len(transaction.records) or transaction.records[int(index)] != place:
            raise Fault(f"{place}: {value} is seen and was never written there")
        return transaction, int(index)

    def judge(self, final):
        """`final` is place -> [(offset, value)] of a reader of committed records, from the first to the last."""
        visible = defaultdict(set)
        for place, rows in final.items():
            last = {}
            for offset, value in rows:
                transaction, index = self.find(place, value)
                key = (transaction.number, index)
                if index in visible[transaction]:
                    raise Fault(f"{place} offset {offset}: {value} is seen twice: doubled")
                if key < last.get(transaction.writer, key):
                    raise Fault(f"{place} offset {offset}: {value} is out of order, behind {last[transaction.writer]} of its writer")
                last[transaction.writer] = key
                visible[transaction].add(index)
            final_values = dict(rows)
            for offset, value in self.seen[place].items():
                if final_values.get(offset) != value:
                    raise Fault(f"{place} offset {offset}: {value} was seen, and now it is {final_values.get(offset)}: taken back")
        for transactions in self.transactions.values():
            for transaction in transactions.values():
                self.judge_one(transaction, visible[transaction])
        self.judge_offsets(visible)
        return sum(1 for indexes in visible.values() if indexes)

    def judge_one(self, transaction, indexes):
        name = f"transaction {transaction.number} of {transaction.writer} ({transaction.state})"
        if indexes and transaction.state in (OPEN, ABORTED):
            raise Fault(f"{name}: aborted and seen")
        missing = [transaction.value(index) for index in range(len(transaction.records)) if index not in indexes]
        if indexes and missing:
            raise Fault(f"{name}: torn, {missing[:5]} is missing")
        if missing and transaction.state == COMMITTED:
            raise Fault(f"{name}: lost, {missing[:5]} is missing")

    def judge_offsets(self, visible):
        """A group stands where the last visible transaction that commits for it says."""
        for writer, transactions in self.transactions.items():
            at = [transaction.offset for transaction in transactions.values() if transaction.offset is not None and visible[transaction]]
            stands = self.moves[writer][-1] if self.moves[writer] else -1
            wanted = max(at, default=-1)
            if stands != wanted:
                raise Fault(f"group {writer} stands at {stands}, and the last visible transaction says {wanted}: torn from its offsets")
