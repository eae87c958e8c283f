"""The admin port from outside, and a Prometheus that scrapes it."""

import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from harness.broker import free_port
from harness.wait import until

SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


def get(port, path):
    """Status and body of a page of the admin port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Figures:
    """One scrape: (name, labels) -> value."""

    def __init__(self, text):
        self.text = text
        self.samples = {}
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            name, labels, value = SAMPLE.match(line).groups()
            key = (name, frozenset(LABEL.findall(labels or "")))
            assert key not in self.samples, f"{line} is there twice"
            self.samples[key] = float(value)

    def value(self, name, **labels):
        """The value with exactly these labels; None when it is not there."""
        return self.samples.get((name, frozenset(labels.items())))

    def sum(self, name, **labels):
        """The sum of all values that have these labels, and maybe more."""
        wanted = set(labels.items())
        return sum(value for (known, has), value in self.samples.items() if known == name and wanted <= has)

    def names(self):
        return {name for name, _ in self.samples}


def figures(port):
    status, text = get(port, "/metrics")
    assert status == 200
    return Figures(text)


class Prometheus:
    """A real Prometheus that scrapes one broker every second, with the project's alert rules."""

    def __init__(self, folder, admin_port, rules):
        self.port = free_port()
        self.folder = folder
        config = folder / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "dohle", "static_configs": [{"targets": [f"127.0.0.1:{admin_port}"]}]}],
        }))
        self.log = open(folder / "prometheus.log", "ab")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def api(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            # While it starts it says so in plain words.
            return json.loads(text) if text.startswith("{") else {"status": text}
        except OSError:
            assert self.process.poll() is None, (self.folder / "prometheus.log").read_text()[-2000:]
            return {"status": "not there yet"}

    def query(self, expression):
        """The values of an expression now; fails when Prometheus does not understand it."""
        answer = self.api("query", query=expression)
        assert answer["status"] == "success", f"{expression}: {answer}"
        result = answer["data"]["result"]
        assert answer["data"]["resultType"] == "vector", expression
        return [float(sample["value"][1]) for sample in result]

    def start(self):
        def up():
            answer = self.api("query", query="up == 1")
            return answer.get("status") == "success" and answer["data"]["result"]
        until(up, "Prometheus scrapes the broker")
        return self

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.log.close()
