"""Fixtures of the compatibility tests, and the closing line `N passed, N failed, N skipped`."""

import os
import tempfile
from pathlib import Path

import pytest

from harness import scores
from harness.broker import start


def pytest_configure(config):
    config.addinivalue_line("markers", "feature(name): what a client is counted for in docs/compatibility.md; without a name its parameter `mode`")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        scores.count(item, report.outcome)
    return report


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    count = lambda *names: sum(len(stats.get(name, [])) for name in names)
    terminalreporter.write_line(f"{count('passed')} passed, {count('failed', 'error')} failed, {count('skipped')} skipped")


def pytest_sessionfinish(session, exitstatus):
    """A suite that could not run counts as failed in CI."""
    scores.save()
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and os.environ.get("CI") and reporter.stats.get("skipped"):
        session.exitstatus = 1


@pytest.fixture(scope="session")
def shared_broker():
    """One broker with default settings for every test that only needs topics of its own."""
    with tempfile.TemporaryDirectory(prefix="dohle-compat-") as folder:
        broker = start(Path(folder))
        yield broker
        broker.stop()


@pytest.fixture
def broker(shared_broker):
    assert shared_broker.alive(), f"the broker ended: {shared_broker.log_tail()}"
    return shared_broker


@pytest.fixture
def folder(tmp_path):
    return tmp_path
