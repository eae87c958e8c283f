"""Kafka's answers in a file: kept by a run, and a side of its own when they are played back."""

import gzip
import json

from differ.lines import CLOSED, WAITS

__all__ = ["Tape", "save", "short"]


def short(value):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text if len(text) < 1500 else text[:1500] + "..."


def save(file, seed, offers, tape):
    lines = [{"seed": seed, "offers": offers}, *tape]
    data = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines).encode()
    # Without a time, so that the same answers are the same file.
    with open(file, "wb") as out:
        out.write(gzip.compress(data, 9, mtime=0))


class Tape:
    """Kafka's side of a replay."""

    live = False
    name = "Kafka"

    def __init__(self, file):
        with gzip.open(file, "rt") as lines:
            head, *self.entries = map(json.loads, lines)
        self.seed, self.offers = head["seed"], head["offers"]
        self.entry = None

    def next(self, _line, _api, _version, _request):
        outcome = self.entry["outcome"]
        return {"waits": WAITS, "closed": CLOSED}.get(outcome["outcome"], outcome), self.entry["state"]

    def taken(self, _line):
        return self.entry["outcome"]

    def calmed(self):
        return self.entry["outcome"]

    def close(self, _line):
        pass

    def close_all(self):
        pass

    def play(self, driver):
        """Every request that was kept, to Dohle."""
        for self.entry in self.entries:
            entry = self.entry
            if "settle" in entry:
                driver.settle(entry["settle"])
            elif "leave" in entry:
                driver.leave()
            elif "drop" in entry:
                driver.drop(entry["drop"])
            elif "ended" in entry:
                driver.ended(entry["ended"])
            elif "take" in entry:
                driver.take(entry["take"])
            elif "calm" in entry:
                driver.calm(entry["api"], entry["version"], entry["request"], entry["calm"])
            elif "walk" in entry:
                driver.walk = entry["walk"]
            else:
                driver.ask(entry["api"], entry["version"], entry["request"], entry["line"])
