"""docs/benchmarks.md: the table between the two marks, made from the last figures of every row."""

import json
import os
import platform
import shlex
import subprocess
from pathlib import Path

from bench import peers, settings

BEGIN, END = "<!-- made by compat-tests/bench/run: begin -->", "<!-- made by compat-tests/bench/run: end -->"
STORED = settings.HERE / "results.json"
NAMES = {"kafka": "Kafka", "dohle": "Dohle", "base": "base", "tansu": "Tansu", "floor": "least possible"}


def machine():
    """Processor, cores, memory, kernel and file system, without names of the machine."""
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "?")
    memory = int(Path("/proc/meminfo").read_text().split()[1]) / (1 << 20)
    kind = subprocess.run(["findmnt", "-n", "-o", "FSTYPE", "-T", str(settings.HERE)], capture_output=True, text=True).stdout.strip()
    return f"{os.cpu_count()} x {cpu}, {memory:.0f} GiB, Linux {platform.release()}, {kind}"


def asked():
    """The variables that change what is measured, as one writes them before a command."""
    names = ("BENCH_QUICK", "BENCH_PEERS", "BENCH_PAIRS", "BENCH_SECONDS", "BENCH_LATENCY_SECONDS", "BENCH_LARGEST_GIB")
    return "".join(f"{name}={shlex.quote(os.environ[name])} " for name in names if os.environ.get(name))


def write(path, figures, command):
    """Puts the figures of this run over those of earlier ones, and rewrites the table."""
    stored = json.loads(STORED.read_text()) if STORED.exists() and path.name == "benchmarks.md" else {"rows": {}}
    about = {"command": asked() + command, "machine": machine(), "versions": [peers.version(name) for name in settings.PEERS],
             "pairs": settings.PAIRS, "quick": settings.QUICK}
    for row in dict.fromkeys(entry["row"] for entry in figures):
        earlier = stored["rows"].get(row, {"figures": []})
        kept = {entry["figure"]: entry["peers"].get("tansu") for entry in earlier["figures"]}
        fresh = [entry for entry in figures if entry["row"] == row]
        for entry in fresh:
            if kept.get(entry["figure"]) and "tansu" not in entry["peers"]:
                entry["peers"]["tansu"] = kept[entry["figure"]]
        stored["rows"][row] = {"about": about, "figures": fresh}
        tansu = about if "tansu" in settings.PEERS else earlier.get("tansu")
        if tansu:
            stored["rows"][row]["tansu"] = tansu
    if path.name == "benchmarks.md":
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
    text = path.read_text() if path.exists() else f"{BEGIN}\n{END}\n"
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise RuntimeError(f"{path} has no marks for the table")
    path.write_text(f"{head}{BEGIN}\n{table(stored['rows'])}\n{END}{tail}")


def table(rows):
    from bench.rows import ROWS

    entries = [entry for row in ROWS if row in rows for entry in rows[row]["figures"]]
    names = [name for name in ("kafka", "base", "dohle", "tansu", "floor") if any(name in entry["peers"] for entry in entries)]
    lines = ["| row | | unit | " + " | ".join(NAMES[name] for name in names) + " | ratio | must | reached |",
             "|---|---|---|" + "---|" * (len(names) + 3)]
    for entry in entries:
        cells = [cell(entry["peers"].get(name)) for name in names]
        ratio = "" if entry["ratio"] is None else f"{entry['ratio']:.2f}x"
        lines.append(f"| {entry['row']} | {entry['figure']} | {entry['unit']} | " + " | ".join(cells)
                     + f" | {ratio} | {must(entry)} | {({True: 'yes', False: '**no**', None: ''})[entry['reached']]} |")
    lines.append("")
    runs, tansu = {}, {}
    for row in ROWS:
        if row in rows:
            runs.setdefault(json.dumps(rows[row]["about"], sort_keys=True), []).append(row)
            # Tansu takes long to build, and its cells stay when a later run goes without it.
            if rows[row].get("tansu", rows[row]["about"]) != rows[row]["about"]:
                tansu.setdefault(json.dumps(rows[row]["tansu"], sort_keys=True), []).append(row)
    for about, of in runs.items():
        about = json.loads(about)
        stalls = [entry.get("stall", 0) for row in of for entry in rows[row]["figures"]]
        lines.append(f"{', '.join(of)}: `{about['command']}`; pairs: {about['pairs']}; {'; '.join(about['versions'])}; "
                     f"{about['machine']}; tasks waited for a CPU {min(stalls):.0%} to {max(stalls):.0%} of the time.")
        lines.append("")
    for about, of in tansu.items():
        about = json.loads(about)
        lines += [f"Tansu in {', '.join(of)}: `{about['command']}`; pairs: {about['pairs']}; {'; '.join(about['versions'])}; {about['machine']}.", ""]
    return "\n".join(lines).rstrip()


def cell(peer):
    """A median, and behind it the least and the most of the passes."""
    if not peer:
        return ""
    low, high = min(peer["runs"]), max(peer["runs"])
    return number(peer["median"]) + (f" ({number(low)}-{number(high)})" if low != high else "")


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:g}"


def must(entry):
    if not entry["must"]:
        return ""
    kind, limit = entry["must"]
    return f">={limit}x" if kind == "ratio" else f"{'>=' if kind == 'least' else '<='}{limit}"
