"""One topic that all clients write to at the same time, and that all of them read."""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from harness.clients import CLIENTS, dump, produce


class Mixed:
    """Rows of all clients in one topic. `rows(client)` are what a client writes; `errors` has those that failed."""

    def __init__(self, broker, topic, codec, rows):
        self.broker, self.topic = broker, topic
        self.rows = {client: rows(client) for client in CLIENTS}
        self.errors = {}

        def write(client):
            try:
                produce(client, broker, topic, codec, self.rows[client])
            except Exception as error:
                self.errors[client] = error

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(write, CLIENTS))

    @cached_property
    def reference(self):
        """All records as franz-go reads them."""
        return dump("franz-go", self.broker, self.topic)

    def written(self):
        """The rows of the clients that could write; the others fail their own tests."""
        return {client: rows for client, rows in self.rows.items() if client not in self.errors}

    def check(self, client):
        """Fails if this client could not write."""
        if client in self.errors:
            raise self.errors[client]
