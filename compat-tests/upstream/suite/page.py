"""Writes the table of docs/compatibility.md, between its markers."""

from . import tables

PAGE = tables.HERE.parent.parent / "docs" / "compatibility.md"
BEGIN, END = "<!-- upstream:begin -->", "<!-- upstream:end -->"


def counts(results):
    number = lambda what: sum(1 for result in results if result.result == what)
    return f"{number('passed')} / {number('failed')} / {number('skipped')}"


def short(name):
    return f"`{name.rsplit('.', 1)[1]}`"


def table(classes, outcomes, kafka):
    lines = [
        "Every test has one broker with one replica of each partition here, also where it asks for more; Apache Kafka's score",
        "is the one with the brokers that the test asks for, where it was measured with these, else with one too. A test",
        "counts where Apache Kafka passes it; what it does not pass through this harness (mostly tests that look into the",
        "server's objects), or was not measured for, is skipped. passed / failed / skipped:",
        "",
        "| class | area | Apache Kafka | Dohle | why tests fail |",
        "|---|---|---|---|---|",
    ]
    for cls in classes:
        if cls.left_out:
            continue
        one = outcomes.get(cls.name)
        ours = f"{one.passed} / {one.failed} / {one.skipped} | {one.features}" if one else "not measured yet |"
        lines.append(f"| {short(cls.name)} | {cls.area} | {counts(kafka.get(cls.name, []))} | {ours} |")
    shown = [outcomes[cls.name] for cls in classes if not cls.left_out and cls.name in outcomes]
    total = lambda what: sum(getattr(one, what) for one in shown)
    every = [result for cls in classes if not cls.left_out for result in kafka.get(cls.name, [])]
    lines.append(f"| **all** | | {counts(every)} | {total('passed')} / {total('failed')} / {total('skipped')} | |")
    lines += ["", f"Differences without a reason in `compat-tests/upstream/reasons.tsv`: {total('unexplained')}.", ""]
    lines += ["Classes that do not run:", "", "| class | area | needs |", "|---|---|---|"]
    lines += [f"| {short(cls.name)} | {cls.area} | {cls.left_out} |" for cls in classes if cls.left_out]
    return "\n".join(lines)


def write(classes, outcomes, kafka):
    text = PAGE.read_text()
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    PAGE.write_text(f"{head}{BEGIN}\n{table(classes, outcomes, kafka)}\n{END}{tail}")
