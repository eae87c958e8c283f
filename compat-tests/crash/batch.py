"""Record batches, made and taken apart by hand, so that the checker sees every byte that was sent and comes back."""

import gzip
import random
import struct

import crc32c
import lz4.frame
import snappy
import zstandard

HEAD = struct.Struct(">qiibIhiqqqhii")
SIZE = HEAD.size
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Where the checksummed bytes begin; base offset, length and leader epoch before them are the broker's.
CHECKED = 21
_zstd = zstandard.ZstdCompressor(level=1)
_random = random.Random(4)
# Words of many lengths: compresses as text does, and no two stretches of it are alike.
FILLER = " ".join("".join(_random.choices("etaoinshrdlu", k=_random.randint(1, 9))) for _ in range(40000)).encode()


def squeeze(codec, data):
    match codec:
        case "none":
            return data
        case "gzip":
            return gzip.compress(data, 1)
        case "snappy":
            return snappy.compress(data)
        case "lz4":
            return lz4.frame.compress(data)
        case "zstd":
            return _zstd.compress(data)


def varint(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def value(number, index, size):
    """The value of a batch's record: who it is, and filler that depends on it."""
    at = (number * 7919 + index * 104729) % (len(FILLER) - size)
    return b"%d/%d " % (number, index) + FILLER[at:at + size]


def build(number, codec, count, size, producer=(-1, -1, -1)):
    """A batch of `count` records. `number` is unique in a run and is its base timestamp, too, so that it can be told
    without opening the records; `producer` is id, epoch and base sequence."""
    records = bytearray()
    for index in range(count):
        data = value(number, index, size)
        body = b"\0\0" + varint(index) + b"\x01" + varint(len(data)) + data + b"\0"
        records += varint(len(body)) + body
    data = squeeze(codec, bytes(records))
    rest = struct.pack(">hiqqqhii", CODECS.index(codec), count - 1, number, number, *producer, count) + data
    return struct.pack(">qiibI", 0, len(rest) + 9, -1, 2, crc32c.crc32c(rest)) + rest


class Stored:
    """The head of a batch that was read."""

    __slots__ = ("base", "end", "number", "crc", "size", "producer", "sequence")

    def __init__(self, data, at):
        base, length, _epoch, magic, crc, _attributes, last, first_time, _max, pid, _pe, sequence, count = HEAD.unpack_from(data, at)
        assert magic == 2, f"magic {magic} at {base}"
        assert count == last + 1, f"count {count} of a batch with last delta {last} at {base}"
        self.base, self.end, self.number, self.crc = base, base + count, first_time, crc
        self.size, self.producer, self.sequence = length + 12, pid, sequence


def walk(data):
    """Whole batches of a fetched range; each one's checksum is computed anew."""
    at = 0
    view = memoryview(data)
    while at + SIZE <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        if at + 12 + length > len(data):
            return
        stored = Stored(data, at)
        found = crc32c.crc32c(view[at + CHECKED:at + 12 + length])
        assert found == stored.crc, f"damaged batch served at offset {stored.base}: checksum {found:08x}, not {stored.crc:08x}"
        yield stored
        at += stored.size
