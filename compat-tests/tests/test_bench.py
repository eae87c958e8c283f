"""compat-tests/bench/run measures: two rows in their smallest form give figures, and a table of them."""

import json
import os
import subprocess
from pathlib import Path

from bench import report

RUN = Path(__file__).resolve().parents[1] / "bench" / "run"
PEER = "kafka" if os.environ.get("COMPAT_BROKER") == "kafka" else "dohle"


def test_two_rows_give_figures_and_a_table(folder):
    docs = folder / "table.md"
    settings = {"BENCH_QUICK": "1", "BENCH_PEERS": PEER, "BENCH_SECONDS": "0.3", "BENCH_DIR": str(folder / "data"), "BENCH_DOCS": str(docs)}
    cores = sorted(os.sched_getaffinity(0))
    settings["BENCH_CORES"] = f"{cores[0]} {cores[-1]}"
    done = subprocess.run([str(RUN), "P1", "P4"], env={**os.environ, **settings}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert [figure["row"] for figure in figures] == ["P1"] * 2 + ["P4"] * 5, figures
    for figure in figures:
        assert figure["peers"][PEER]["median"] > 0, figure
        assert figure["ratio"] is None, "there is nobody to compare with"
    table = [line for line in docs.read_text().splitlines() if line.startswith("| P")]
    assert len(table) == len(figures), table
    assert not (folder / "data").exists(), "the brokers' data is removed"


def test_an_unknown_row_is_named(folder):
    done = subprocess.run([str(RUN), "P1", "P99"], env={**os.environ, "BENCH_DIR": str(folder)}, capture_output=True, text=True, timeout=500)
    assert done.returncode != 0 and "P99" in done.stderr and not done.stdout, done


def test_cells_of_tansu_stay_when_a_later_run_goes_without_it(folder, monkeypatch):
    docs = folder / "benchmarks.md"
    monkeypatch.setattr(report, "STORED", folder / "results.json")
    monkeypatch.setattr(report.peers, "version", str)

    def write(values, command):
        monkeypatch.setattr(report.settings, "PEERS", list(values))
        cells = {name: {"median": value, "runs": [value]} for name, value in values.items()}
        report.write(docs, [{"row": "P1", "figure": "cost", "unit": "s", "ratio": 2.0, "must": None, "reached": None, "peers": cells}], command)
        return docs.read_text()

    assert "| P1 | cost | s | 4 | 2 | 3 | 2.00x |" in write({"kafka": 4, "dohle": 2, "tansu": 3}, "first")
    text = write({"kafka": 8, "dohle": 4}, "second")
    assert "| P1 | cost | s | 8 | 4 | 3 | 2.00x |" in text, text
    assert "P1: `second`" in text and "Tansu in P1: `first`" in text, text
    text = write({"kafka": 8, "dohle": 4, "tansu": 5}, "third")
    assert "| 8 | 4 | 5 |" in text and "Tansu in" not in text, text
