"""The same main paths where io_uring is forbidden: by the setting, and by a system that refuses its calls."""

import ctypes
import os
import struct

import pytest

from harness.admin import new_topic
from harness.broker import Broker, free_port
from harness.clients import CODECS, dump, produce
from tests.test_codecs import by_key, rows
from tests.test_kill import kill_under_an_idempotent_producer

NR_IO_URING_SETUP = 425


def forbid_io_uring():
    """A seccomp filter that answers io_uring_setup with EPERM, as container profiles do."""
    libc = ctypes.CDLL(None, use_errno=True)
    allow, refuse = 0x7FFF0000, 0x00050001
    program = b"".join(
        struct.pack("HBBI", *op)
        for op in ((0x20, 0, 0, 0), (0x15, 0, 1, NR_IO_URING_SETUP), (0x06, 0, 0, refuse), (0x06, 0, 0, allow)))
    filters = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", 4, ctypes.addressof(filters))
    assert libc.prctl(38, 1, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
    assert libc.prctl(22, 2, ctypes.c_char_p(header), 0, 0) == 0, os.strerror(ctypes.get_errno())


class Confined(Broker):
    preexec = staticmethod(forbid_io_uring)


@pytest.fixture(params=["by the setting", "by the system"])
def pool_broker(request, folder):
    kind = Broker if request.param == "by the setting" else Confined
    settings = {"dohle.io.uring.enable": "false"} if kind is Broker else {}
    broker = kind(folder, free_port(), settings).start()
    yield broker
    broker.kill()


def test_records_of_every_codec_survive_kill_and_restart(pool_broker):
    topics = {}
    for codec in CODECS:
        topics[codec] = new_topic(pool_broker, f"pool-{codec}", partitions=3)
        produce("java", pool_broker, topics[codec], codec, rows("java"))
    assert 'engine="pool"' in pool_broker.log_text() and 'engine="io_uring"' not in pool_broker.log_text()
    pool_broker.kill()
    pool_broker.start()
    expected = by_key(rows("java"))
    for codec, topic in topics.items():
        for client in ("librdkafka", "franz-go"):
            assert by_key(row[3:] for row in dump(client, pool_broker, topic)) == expected, codec


def test_kill_under_an_idempotent_producer(pool_broker):
    kill_under_an_idempotent_producer(pool_broker, 5)
