"""Counts what each client passed of each feature, and writes the table of docs/compatibility.md."""

import json
import os
from collections import defaultdict

from harness.clients import CLIENTS, HERE, WORK

DOCS = HERE.parent / "docs" / "compatibility.md"
BEGIN, END = "<!-- clients:begin -->", "<!-- clients:end -->"
FEATURES = {
    "codecs": "reads and writes each codec",
    "headers": "null, empty, unnamed, repeated and 10,000 headers",
    "nulls": "null and empty keys and values",
    "large": "a record of 900 KB, and many records",
    "idempotence": "idempotent producer",
    "eager": "eager group: join, leave, death, commit",
    "cooperative": "cooperative group: the same",
    "resume": "a group goes on where it committed",
    "static": "static member comes back",
    "mixed": "shares a group with other clients",
    "times": "offsets for times",
    "topics": "create, list, describe, delete topics",
    "configs": "describe and alter configs",
    "partitions": "add partitions",
    "records": "delete records",
    "groups": "list, describe, delete groups",
    "offsets": "fetch and alter offsets of a group",
}
OUTCOMES = ("passed", "failed", "skipped")
scores = defaultdict(lambda: [0, 0, 0])


def judge():
    return "kafka" if os.environ.get("COMPAT_BROKER") == "kafka" else "dohle"


def count(item, outcome):
    """Counts one test that is marked with a feature and has a parameter `client`."""
    marker = item.get_closest_marker("feature")
    if marker is None:
        return
    params = item.callspec.params
    feature = marker.args[0] if marker.args else params["mode"]
    scores[f"{params['client']} {feature}"][OUTCOMES.index(outcome)] += 1


def save():
    """Keeps the scores of this run beside those of earlier ones on the same broker."""
    if not scores:
        return
    path = WORK / f"scores-{judge()}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    known.update(scores)
    path.write_text(json.dumps(known, indent=0))


def _cell(dohle, kafka):
    """`passed of all`, and Apache Kafka's own score where it differs."""
    if dohle is None:
        return "-"
    text = f"{dohle[0]}/{sum(dohle)}"
    return text if dohle == kafka else f"**{text}** (Kafka {kafka[0]}/{sum(kafka)})" if kafka else f"{text} (Kafka ?)"


def write():
    """Writes the table between its markers: what `compat-tests/clients/table` does at its end."""
    found = {}
    for name in ("dohle", "kafka"):
        path = WORK / f"scores-{name}.json"
        found[name] = json.loads(path.read_text()) if path.exists() else {}
    lines = [
        "Each client runs the same tests against one Dohle and one Apache Kafka 4.4 node, by `compat-tests/clients/table`.",
        "What a client does not have is not asked of it.", ""]
    lines += ["| client | version | Dohle passed / failed / skipped | Apache Kafka passed / failed / skipped |", "|---|---|---|---|"]
    for client, facts in CLIENTS.items():
        sums = {}
        for name in found:
            rows = [row for key, row in found[name].items() if key.rsplit(" ", 1)[0] == client]
            sums[name] = " / ".join(str(sum(column)) for column in zip(*rows)) if rows else "not run"
        lines.append(f"| {client} | {facts.version} | {sums['dohle']} | {sums['kafka']} |")
    lines += ["", "Passed of all tests, by feature; Apache Kafka's score is the same where it is not given. `-`: the client does not have it.", ""]
    lines += ["| | " + " | ".join(CLIENTS) + " |", "|---|" + "---|" * len(CLIENTS)]
    for feature, meaning in FEATURES.items():
        cells = [_cell(found["dohle"].get(f"{c} {feature}"), found["kafka"].get(f"{c} {feature}")) for c in CLIENTS]
        lines.append(f"| {meaning} | " + " | ".join(cells) + " |")
    text = DOCS.read_text() if DOCS.exists() else f"# Compatibility\n\n## Clients\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after)
