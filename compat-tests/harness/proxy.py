"""A proxy that counts the requests of clients by client id and API, whichever library sent them."""

import selectors
import socket
import struct
import threading
from collections import Counter


class Proxy:
    """Forwards bytes both ways. Start it before the broker, which must advertise `port`."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.requests = Counter()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.running = True
        self.thread = threading.Thread(target=self._run, daemon=True)

    def before(self, port):
        """Begins to forward to the broker's own port."""
        self.target = port
        self.thread.start()
        return self

    def count(self, client, api):
        return self.requests[client, api]

    def stop(self):
        self.running = False
        self.thread.join(10)
        self.listener.close()

    def _run(self):
        while self.running:
            for key, _ in self.selector.select(0.1):
                if key.fileobj is self.listener:
                    self._accept()
                else:
                    self._forward(key.fileobj, *key.data)

    def _accept(self):
        client, _ = self.listener.accept()
        broker = socket.create_connection(("127.0.0.1", self.target))
        for one in (client, broker):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(client, selectors.EVENT_READ, (broker, bytearray()))
        self.selector.register(broker, selectors.EVENT_READ, (client, None))

    def _forward(self, source, target, frames):
        try:
            content = source.recv(1 << 20)
        except OSError:
            content = b""
        if content and frames is not None:
            self._look(frames, content)
        try:
            if content:
                target.sendall(content)
                return
        except OSError:
            pass
        for one in (source, target):
            if one.fileno() >= 0:
                self.selector.unregister(one)
                one.close()

    def _look(self, frames, content):
        frames += content
        while len(frames) >= 4:
            size = struct.unpack_from(">i", frames)[0]
            if len(frames) < 4 + size:
                return
            api, _version, _correlation, length = struct.unpack_from(">hhih", frames, 4)
            client = bytes(frames[14 : 14 + max(length, 0)]).decode()
            self.requests[client, api] += 1
            del frames[: 4 + size]
