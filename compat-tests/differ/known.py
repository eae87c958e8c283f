"""The differences that are meant, each with its reason, and how often each was met."""

import re
from pathlib import Path

from differ import batches

FILE = Path(__file__).with_name("known.tsv")
PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"
BEGIN, END = "<!-- differences:begin -->", "<!-- differences:end -->"


def plain(pattern):
    """A pattern of a path as people read it."""
    return re.sub(r"\\(.)", r"\1", pattern.replace(".*", "…").replace("\\d+", "n")).replace("|", " or ")


def cell(pattern):
    return "any" if pattern == "*" else "nothing" if pattern == "nothing" else f"`{plain(pattern)}`" if pattern else "empty"


class Row:
    def __init__(self, api, request, path, kafka, ours, reason):
        self.api, self.request, self.path, self.kafka, self.ours, self.reason = api, request, path, kafka, ours, reason
        self.met = 0

    def explains(self, api, difference, request):
        def fits(pattern, value):
            return pattern == "*" or re.fullmatch(pattern, value if isinstance(value, str) else batches.text(value), re.S) is not None

        asked = self.request == "*" or re.search(self.request, batches.text(request)) is not None
        return re.fullmatch(self.api, api) and asked and fits(self.path, difference.path) and fits(self.kafka, difference.kafka) and fits(self.ours, difference.ours)


class Known:
    def __init__(self, file=FILE):
        self.rows = []
        for line in file.read_text().splitlines()[1:]:
            if line:
                self.rows.append(Row(*line.split("\t")))

    def explains(self, api, difference, request):
        for row in self.rows:
            if row.explains(api, difference, request):
                row.met += 1
                return True
        return False

    def table(self):
        """The reasons with what they are about, for docs/compatibility.md."""
        lines, places = ["| requests | Apache Kafka | Dohle | reason |", "|---|---|---|---|"], {}
        for row in self.rows:
            places.setdefault((row.reason, row.kafka, row.ours), []).append(row)
        for (reason, kafka, ours), rows in places.items():
            apis = ", ".join(dict.fromkeys(api for row in rows for api in row.api.split("|")))
            fields = ", ".join(dict.fromkeys(f"`{plain(row.path)}`" for row in rows))
            lines.append(f"| {apis}: {fields} | {cell(kafka)} | {cell(ours)} | {reason} |")
        return "\n".join(lines)

    def page(self, write):
        """Whether docs/compatibility.md has the table; it is written where that is asked for."""
        text = PAGE.read_text()
        before, _, rest = text.partition(BEGIN)
        _, _, after = rest.partition(END)
        made = f"{before}{BEGIN}\n{self.table()}\n{END}{after}"
        if write:
            PAGE.write_text(made)
        return write or made == text

    def total(self):
        return sum(row.met for row in self.rows)
