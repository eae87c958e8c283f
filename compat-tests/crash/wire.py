"""The few Kafka requests that the load needs, over raw sockets: nothing is retried, hidden or batched behind its back."""

import asyncio
import struct

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 0, 1, 2, 3, 8, 9, 10
CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID = 19, 20, 22
LATEST, EARLIEST = -1, -2
NONE, UNKNOWN_TOPIC, OUT_OF_ORDER, STORAGE = 0, 3, 45, 56


class Down(Exception):
    """The connection ended before the answer came: nobody knows what became of the request."""


def string(text):
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


class Reader:
    """Reads an answer's fields one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0] if len(values) == 1 else values

    def string(self):
        length = self.take("h")
        return None if length < 0 else self.raw(length).decode()

    def bytes(self):
        length = self.take("i")
        return b"" if length < 0 else self.raw(length)

    def raw(self, length):
        data = self.data[self.at:self.at + length]
        self.at += length
        return data

    def array(self, item):
        return [item() for _ in range(max(self.take("i"), 0))]


class Connection:
    """One connection: requests go out in the order of their calls, answers come back in that order."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.waiting = {}
        self.number = 0
        self.down = False
        self.task = asyncio.ensure_future(self._receive())

    @classmethod
    async def open(cls, port):
        try:
            return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 22))
        except OSError as error:
            raise Down(str(error)) from error

    async def _receive(self):
        try:
            while True:
                size, number = struct.unpack(">ii", await self.reader.readexactly(8))
                body = await self.reader.readexactly(size - 4)
                future = self.waiting.pop(number)
                if not future.done():
                    future.set_result(body)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            self.fail()

    def fail(self):
        self.down = True
        self.writer.close()
        waiting, self.waiting = self.waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(Down("the connection ended"))
                future.exception()

    async def close(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def send(self, key, version, body, answer=True):
        """Sends at once; a future of the answer's body. Nobody answers a produce request with acks=0."""
        if self.down:
            raise Down("the connection ended")
        self.number += 1
        head = struct.pack(">hhi", key, version, self.number) + string("crash")
        self.writer.write(struct.pack(">i", len(head) + len(body)) + head + body)
        future = asyncio.get_running_loop().create_future()
        if answer:
            self.waiting[self.number] = future
        else:
            future.set_result(b"")
        return future

    async def call(self, key, version, body, seconds=30):
        return Reader(await asyncio.wait_for(self.send(key, version, body), seconds))


def produce(topic, partition, acks, batch, timeout_ms=30000):
    data = struct.pack(">ii", partition, len(batch)) + batch
    return string(None) + struct.pack(">hi", acks, timeout_ms) + array([string(topic) + array([data])])


def produced(body):
    """(error, base offset) of a produce answer for one partition."""
    read = Reader(body)
    read.take("i"), read.string(), read.take("i")
    _index, error, base = read.take("ihq")
    return error, base


async def fetch(connection, topic, partition, offset, max_bytes=1 << 20):
    """(error, high watermark, log start, bytes) of one partition."""
    row = struct.pack(">iiqqi", partition, -1, offset, -1, max_bytes)
    body = struct.pack(">iiiibii", -1, 0, 1, max_bytes, 0, 0, -1) + array([string(topic) + array([row])]) + array([]) + string("")
    read = await connection.call(FETCH, 11, body)
    read.take("ihi")
    read.take("i"), read.string(), read.take("i")
    _index, error, high, _stable, start = read.take("ihqqq")
    read.array(lambda: read.take("qq"))
    read.take("i")
    return error, high, start, read.bytes()


async def list_offset(connection, topic, partition, which):
    """(error, offset)."""
    row = struct.pack(">iiq", partition, -1, which)
    read = await connection.call(LIST_OFFSETS, 5, struct.pack(">ib", -1, 0) + array([string(topic) + array([row])]))
    read.take("i"), read.take("i"), read.string(), read.take("i")
    _index, error, _time, offset, _epoch = read.take("ihqqi")
    return error, offset


async def find_coordinator(connection, group):
    """The error; asking makes the topic for offsets, if it is not there yet."""
    read = await connection.call(FIND_COORDINATOR, 1, string(group) + b"\0")
    read.take("i")
    return read.take("h")


async def commit(connection, group, topic, offsets):
    """Commits {partition: offset} as a consumer that manages its partitions itself; the errors that came."""
    rows = [struct.pack(">iqi", partition, offset, -1) + string("") for partition, offset in offsets.items()]
    body = string(group) + struct.pack(">i", -1) + string("") + string(None) + array([string(topic) + array(rows)])
    read = await connection.call(OFFSET_COMMIT, 7, body)
    read.take("i")
    topics = read.array(lambda: (read.string(), read.array(lambda: read.take("ih"))))
    return {error for _name, rows in topics for _partition, error in rows} - {NONE}


async def committed(connection, group, topic, partitions):
    """{partition: offset} that the coordinator has, -1 for none."""
    body = string(group) + array([string(topic) + array([struct.pack(">i", partition) for partition in partitions])])
    read = await connection.call(OFFSET_FETCH, 5, body)
    read.take("i")

    def row():
        partition, offset, _epoch = read.take("iqi")
        read.string()
        return partition, offset, read.take("h")

    rows = [row for _name, rows in read.array(lambda: (read.string(), read.array(row))) for row in rows]
    error = read.take("h") or next((error for _partition, _offset, error in rows if error), NONE)
    return error, {partition: offset for partition, offset, _error in rows}


async def create_topic(connection, name, partitions, configs):
    rows = [string(key) + string(str(value)) for key, value in configs.items()]
    topic = string(name) + struct.pack(">ih", partitions, 1) + array([]) + array(rows)
    read = await connection.call(CREATE_TOPICS, 4, array([topic]) + struct.pack(">ib", 30000, 0))
    read.take("i"), read.take("i"), read.string()
    return read.take("h")


async def delete_topic(connection, name):
    read = await connection.call(DELETE_TOPICS, 3, array([string(name)]) + struct.pack(">i", 30000))
    read.take("i"), read.take("i"), read.string()
    return read.take("h")


async def topics(connection):
    """The names of all topics."""
    read = await connection.call(METADATA, 4, struct.pack(">ib", -1, 0))
    read.take("i")
    read.array(lambda: (read.take("i"), read.string(), read.take("i"), read.string()))
    read.string(), read.take("i")

    def topic():
        _error, name, _internal = read.take("h"), read.string(), read.take("b")
        read.array(lambda: (read.take("hii"), read.array(lambda: read.take("i")), read.array(lambda: read.take("i"))))
        return name

    return set(read.array(topic))


async def producer_id(connection):
    """(error, a fresh producer id)."""
    read = await connection.call(INIT_PRODUCER_ID, 1, string(None) + struct.pack(">i", 60000))
    _throttle, error, number, _epoch = read.take("ihqh")
    return error, number
