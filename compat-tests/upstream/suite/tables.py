"""The checked-in tables: which classes run, what Apache Kafka makes of each test, and why a test fails here."""

import csv
import fnmatch
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
# A time of today in milliseconds, as some tests have it in their names.
TIME = re.compile(r"\b1[7-9]\d{11}\b")
# Why the harness skips the second form of a test that is declared for two layouts of one cluster, and what is not run.
NO_RESULT = ("same test as the other type", "counts for nothing")
KAFKA = HERE / "kafka-4.3.1.tsv"
DOHLE = HERE / "dohle.tsv"


@dataclass(frozen=True)
class TestClass:
    """One class of tests. `left_out` says why it does not run; empty: it runs."""

    name: str
    area: str
    quick: bool
    left_out: str


@dataclass(frozen=True)
class Result:
    """What became of one test. `reason` is the exception or why it was skipped."""

    cls: str
    method: str
    name: str
    result: str
    reason: str
    seconds: float = 0.0

    @property
    def key(self):
        return self.cls, self.method, self.name


@dataclass(frozen=True)
class Reason:
    """
    Why a test fails. `note` is empty, or `varies` (on another machine it may also pass), or `hangs` (it would wait for
    minutes, so it is not run).
    """

    cls: str
    pattern: str
    feature: str
    note: str = ""

    def covers(self, result):
        return self.cls == result.cls and fnmatch.fnmatchcase(result.name, self.pattern)


def rows(path):
    with open(path, newline="") as lines:
        plain = (line for line in lines if line.strip() and not line.startswith("#"))
        yield from csv.reader(plain, delimiter="\t", quoting=csv.QUOTE_NONE)


def classes():
    found = []
    for name, area, what in rows(HERE / "classes.tsv"):
        runs = what in ("run", "quick")
        found.append(TestClass(name, area, what == "quick", "" if runs else what))
    return found


def kafka():
    """Class name to the results of its tests."""
    table = {}
    if KAFKA.exists():
        for cls, method, name, result, reason in rows(KAFKA):
            table.setdefault(cls, []).append(Result(cls, method, name, result, reason))
    return table


def write_kafka(table):
    with open(KAFKA, "w") as out:
        out.write("# class\tmethod\ttest\tresult\twhy not passed\n")
        for cls in sorted(table):
            for test in sorted(table[cls], key=lambda result: result.key):
                out.write("\t".join((test.cls, test.method, test.name, test.result, test.reason)) + "\n")


@dataclass(frozen=True)
class Outcome:
    """What a run with `--page` made of a class. `features`: the later features that its failures ask for."""

    passed: int
    failed: int
    skipped: int
    unexplained: int
    features: str


def dohle():
    """Class name to the outcome of the last run with `--page`."""
    if not DOHLE.exists():
        return {}
    return {cls: Outcome(*map(int, counts), features) for cls, *counts, features in rows(DOHLE)}


def write_dohle(table):
    with open(DOHLE, "w") as out:
        out.write("# class\tpassed\tfailed\tskipped\tunexplained\twhy tests fail\n")
        for cls, one in sorted(table.items()):
            out.write(f"{cls}\t{one.passed}\t{one.failed}\t{one.skipped}\t{one.unexplained}\t{one.features}\n")


def reasons():
    # `[` means itself: display names have it, and the tables have no sets of letters.
    found = []
    for cls, pattern, feature, *note in rows(HERE / "reasons.tsv"):
        found.append(Reason(cls, pattern.replace("[", "[[]"), feature, *note))
    return found


def not_run(cls):
    """
    A regular expression of the tests of the class that are not run: those that would hang, and those that Apache Kafka
    does not pass, which count for nothing. Empty when all are run.
    """
    mine = [reason for reason in reasons() if reason.cls == cls and reason.note == "hangs"]
    patterns = [fnmatch.translate(reason.pattern).replace("(?s:", "(?:").removesuffix(r"\Z") for reason in mine]
    measured = kafka().get(cls, [])
    passed = {result.name for result in measured if result.result == "passed"}
    names = {result.name for result in measured if result.result != "passed" and result.method != "(class)"}
    # The second of two tests with one name (#2) is run or not run with the first.
    patterns += [re.escape(name) for name in sorted(names) if " #" not in name and f"{name} #2" not in passed]
    return "|".join(patterns)


def report(path):
    """What the Java side wrote about one class; a name that comes twice gets a number, and one that has the time of its run in it
    another word for that."""
    found, seen = [], {}
    if not path.exists():
        return found
    for cls, method, name, result, seconds, reason, _shape in rows(path):
        if reason in NO_RESULT:
            continue
        name = TIME.sub("now", name)
        seen[method, name] = seen.get((method, name), 0) + 1
        number = seen[method, name]
        found.append(Result(cls, method, name if number == 1 else f"{name} #{number}", result, reason, float(seconds)))
    return found
