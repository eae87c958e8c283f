"""One side of the comparison: requests as bytes to a live broker, or the answers of Kafka that were kept in a file."""

import select
import socket
import struct
import time

from harness.raw import Reader
from differ import batches

CLOSED = {"outcome": "closed"}
WAITS = {"outcome": "waits"}


def answered(body):
    return {"outcome": "answer", "body": body}


class Line:
    """A connection with at most one request in work."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.number = 0
        self.buffer = b""
        self.asked = None

    def send(self, api, version, body, client):
        layout = api.asks(version)
        self.number += 1
        content = struct.pack(">hhih", api.key, version, self.number, len(client)) + client.encode()
        content += (b"\0" if layout.flexible else b"") + layout.encode(layout.schema["fields"], batches.with_bytes(body))
        self.asked = (api, version)
        try:
            self.socket.sendall(struct.pack(">i", len(content)) + content)
        except OSError:
            pass  # What became of it is seen when it is read.

    def receive(self, seconds):
        """The outcome, or None when there is none within that time."""
        limit = time.monotonic() + seconds
        while True:
            if len(self.buffer) >= 4:
                (size,) = struct.unpack_from(">i", self.buffer)
                if len(self.buffer) >= 4 + size:
                    content, self.buffer = self.buffer[4 : 4 + size], self.buffer[4 + size :]
                    return answered(self.decode(content))
            left = limit - time.monotonic()
            if not select.select([self.socket], [], [], max(left, 0))[0]:
                return None
            try:
                part = self.socket.recv(1 << 20)
            except OSError:
                part = b""
            if not part:
                return CLOSED
            self.buffer += part

    def decode(self, content):
        api, version = self.asked
        reader = Reader(content)
        number = reader.number(">i")
        assert number == self.number, f"{api.name}: an answer to request {number}, not to {self.number}"
        layout = api.answers(version)
        if api.name == "ApiVersions" and content[4:6] == b"\0\x23":
            layout = api.answers(0)
        elif layout.flexible and api.name != "ApiVersions":
            assert reader.varuint() == 0, f"{api.name}: tags in the header"
        body = layout.decode(layout.schema["fields"], reader)
        assert reader.at == len(content), f"{api.name} {version}: {len(content) - reader.at} bytes behind the last field"
        return batches.without_bytes(body)

    def close(self):
        self.socket.close()


class Live:
    """A running broker."""

    live = True

    def __init__(self, name, broker, client="differ"):
        self.name, self.broker, self.client = name, broker, client
        self.lines = {}

    def send(self, line, api, version, body):
        if line not in self.lines:
            self.lines[line] = Line(self.broker.port)
        self.lines[line].send(api, version, body, self.client)

    def receive(self, line, seconds):
        try:
            outcome = self.lines[line].receive(seconds)
        except (AssertionError, UnicodeDecodeError, struct.error) as error:
            outcome = {"outcome": "unreadable", "body": str(error)}
        if outcome is not None and outcome["outcome"] != "answer":
            self.close(line)
        return outcome

    def call(self, line, api, version, body, seconds=30):
        self.send(line, api, version, body)
        return self.receive(line, seconds) or WAITS

    def close(self, line):
        if line in self.lines:
            self.lines.pop(line).close()

    def close_all(self):
        for line in list(self.lines):
            self.close(line)
