"""Writes the table of docs/compatibility.md, between its markers."""

from . import tables

PAGE = tables.HERE.parent.parent / "docs" / "compatibility.md"
BEGIN, END = "<!-- upstream:begin -->", "<!-- upstream:end -->"


def counts(results):
    number = lambda what: sum(1 for result in results if result.result == what)
    return f"{number('passed')} / {number('failed')} / {number('skipped')}"


def short(name):
    return f"`{name.rsplit('.', 1)[1]}`"


def table(classes, verdicts, kafka):
    lines = [
        "A test counts where Apache Kafka passes it through the same harness; what it does not pass (mostly tests that look",
        "into the server's objects, or that want more brokers) is skipped. passed / failed / skipped:",
        "",
        "| class | area | Apache Kafka | Dohle | why tests fail |",
        "|---|---|---|---|---|",
    ]
    for cls in classes:
        if cls.left_out:
            continue
        verdict = verdicts[cls.name]
        ours = f"{verdict.passed} / {verdict.failed} / {verdict.skipped}"
        why = "; ".join(sorted(verdict.features))
        lines.append(f"| {short(cls.name)} | {cls.area} | {counts(kafka.get(cls.name, []))} | {ours} | {why} |")
    total = lambda what: sum(getattr(verdict, what) for verdict in verdicts.values())
    every = [result for cls in classes if not cls.left_out for result in kafka.get(cls.name, [])]
    lines.append(f"| **all** | | {counts(every)} | {total('passed')} / {total('failed')} / {total('skipped')} | |")
    unexplained = sum(len(verdict.faults) for verdict in verdicts.values())
    lines += ["", f"Differences without a reason in `compat-tests/upstream/reasons.tsv`: {unexplained}.", ""]
    lines += ["Classes that do not run yet:", "", "| class | area | needs |", "|---|---|---|"]
    lines += [f"| {short(cls.name)} | {cls.area} | {cls.left_out} |" for cls in classes if cls.left_out]
    return "\n".join(lines)


def write(classes, verdicts, kafka):
    text = PAGE.read_text()
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    PAGE.write_text(f"{head}{BEGIN}\n{table(classes, verdicts, kafka)}\n{END}{tail}")
