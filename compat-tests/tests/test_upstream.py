"""Apache Kafka's own integration tests: the classes that are fast enough for every change, and how they are judged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

UPSTREAM = Path(__file__).resolve().parent.parent / "upstream"


@pytest.mark.skipif(os.environ.get("COMPAT_BROKER") == "kafka", reason="measured with upstream/run --kafka")
@pytest.mark.timeout(1500)
def test_the_quick_upstream_classes_differ_from_kafka_only_where_a_later_feature_explains_it():
    environment = {"JOBS": "2"} | os.environ
    ended = subprocess.run([UPSTREAM / "run", "--quick"], capture_output=True, text=True, env=environment)
    print(ended.stdout, ended.stderr)
    last = ended.stdout.strip().splitlines()[-1]
    assert ended.returncode == 0 and last.endswith(" 0 unexplained"), f"{ended.stdout}\n{ended.stderr}"
    assert int(last.split()[0]) > 0, last


@pytest.fixture
def judge(monkeypatch):
    monkeypatch.syspath_prepend(str(UPSTREAM))
    from suite import judge, tables

    yield lambda ours, kafka, reasons=(), late=False, note="": judge.judge(
        "C",
        [tables.Result("C", "m", name, result, "") for name, result in ours.items()],
        [tables.Result("C", "m", name, result, "") for name, result in kafka.items()],
        [tables.Reason("C", pattern, "transactions", note) for pattern in reasons],
        late,
    )
    for module in [name for name in sys.modules if name == "suite" or name.startswith("suite.")]:
        del sys.modules[module]


def test_a_failure_needs_a_reason_and_a_skipped_test_of_the_bar_is_a_failure(judge):
    bar = {"a": "passed", "b": "passed", "c": "passed"}
    verdict = judge({"a": "failed", "b": "skipped"}, bar)
    assert (verdict.passed, verdict.failed, len(verdict.faults)) == (0, 3, 3)
    verdict = judge({"a": "failed", "b": "skipped"}, bar, ["*"])
    assert (verdict.failed, verdict.faults, verdict.features) == (3, [], {"transactions"})


def test_a_reason_that_no_longer_holds_is_a_fault(judge):
    verdict = judge({"a": "passed"}, {"a": "passed"}, ["a"])
    assert verdict.passed == 1 and "out of date" in verdict.faults[0]
    assert judge({"a": "passed"}, {"a": "passed"}, ["a"], note="varies").faults == []
    assert "covers no test" in judge({"a": "passed"}, {"a": "passed"}, ["x"]).faults[0]
    assert "does not pass it" in judge({"a": "failed"}, {"a": "failed"}, ["a"]).faults[0]


def test_what_kafka_does_not_pass_is_skipped_and_what_was_not_measured_is_a_fault(judge):
    verdict = judge({"a": "failed", "b": "passed"}, {"a": "failed", "b": "skipped"})
    assert (verdict.passed, verdict.skipped, verdict.faults) == (0, 2, [])
    assert "not known" in judge({"new": "passed"}, {}).faults[0]
    assert "no test gave a result" in judge({}, {}).faults[0]
    assert "time" in judge({}, {}, late=True).faults[-1]
