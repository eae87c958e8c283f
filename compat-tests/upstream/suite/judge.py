"""Compares one class's results with Apache Kafka's own and with the reasons that are known."""

from dataclasses import dataclass, field

from . import tables


@dataclass
class Verdict:
    """Counts of one class, and what is wrong with them. `faults` empty: every difference has its reason."""

    cls: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    features: set = field(default_factory=set)
    faults: list = field(default_factory=list)
    seconds: float = 0.0

    def outcome(self):
        return tables.Outcome(self.passed, self.failed, self.skipped, len(self.faults), "; ".join(sorted(self.features)))


def judge(cls, results, kafka, reasons, late):
    """
    A test counts when Apache Kafka passes it. It passes here, or a reason names the later feature that it asks for.
    A reason that covers a test which passes is out of date, one that covers no test is a mistake: both are faults.
    """
    verdict = Verdict(cls, seconds=sum(result.seconds for result in results))
    ours = {result.key: result for result in results}
    mine = [reason for reason in reasons if reason.cls == cls]
    used = set()
    for bar in kafka:
        result = ours.pop(bar.key, None)
        why = [reason for reason in mine if reason.covers(bar)]
        used.update(why)
        if bar.result != "passed":
            verdict.skipped += 1
            if why:
                verdict.faults.append(f"{bar.name}: has a reason, but Apache Kafka itself does not pass it")
        elif result is not None and result.result == "passed":
            verdict.passed += 1
            if why and why[0].note != "varies":
                verdict.faults.append(f"{bar.name}: passes now, so its reason '{why[0].feature}' is out of date")
        else:
            verdict.failed += 1
            if why:
                verdict.features.add(why[0].feature)
            else:
                verdict.faults.append(f"{bar.name}: {told(result)}")
    for result in ours.values():
        why = [reason for reason in mine if reason.covers(result)]
        used.update(why)
        # What a class finds behind its tests, such as threads that a failed test left, has no line in Kafka's table.
        if why and result.method == "(class)":
            continue
        verdict.faults.append(f"{result.name}: {result.result}, but Apache Kafka's result is not known; run --kafka {cls}")
    for reason in mine:
        if reason not in used:
            verdict.faults.append(f"the reason for '{reason.pattern}' covers no test")
    if not results and (verdict.failed or not kafka):
        verdict.faults.append("no test gave a result, see its log (OUT=folder keeps it)")
    if late:
        verdict.faults.append("its time was up before the end")
    return verdict


def told(result):
    if result is None:
        return "no result"
    return f"{result.result}: {result.reason}"
