"""What the Python clients share: text to bytes and back, and the digest that every client computes alike."""

import hashlib
import json
import struct
import sys


def encode(value):
    return None if value is None else value.encode()


def text(value):
    return None if value is None else value.decode()


def session(commands):
    """Answers the commands of an admin session, one line each, until the input ends."""
    for line in sys.stdin:
        name, *args = json.loads(line)
        try:
            if name not in commands:
                raise KeyError(f"unknown command {name}")
            answer = {"ok": commands[name](*args)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


class Digest:
    """SHA-256 over offset, key and value of a partition's records in the order in which they were read."""

    def __init__(self):
        self.count = 0
        self.hash = hashlib.sha256()

    def add(self, offset, key, value):
        self.count += 1
        self.hash.update(struct.pack(">q", offset))
        for part in (key, value):
            self.hash.update(struct.pack(">i", -1 if part is None else len(part)))
            if part is not None:
                self.hash.update(part)

    def result(self):
        return [self.count, self.hash.hexdigest()]
