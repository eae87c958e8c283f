"""Faults that are planted outside the product, to prove that each is noticed.

In files, between the kill and the next start: `lost` cuts the last batches off a log, `hole` takes one out of the middle,
`doubled` appends a copy of one at the next offset, `swapped` exchanges two neighbours, `offsets` empties the offsets topic.
In the checker's input: `unseen` takes away one batch that was read.
"""

import struct

from crash import batch

FILES = ("lost", "hole", "doubled", "swapped", "offsets")
INPUT = ("unseen",)


def pieces(data):
    """The batches of a log file, as bytes."""
    at, out = 0, []
    while at + batch.SIZE <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        if length <= 0 or at + 12 + length > len(data):
            break
        out.append(data[at:at + 12 + length])
        at += 12 + length
    return out


def renumber(parts, base):
    """The same batches at fresh offsets: those are outside the checksum."""
    out = []
    for part in parts:
        out.append(struct.pack(">q", base) + part[8:])
        base += batch.Stored(part, 0).end - batch.Stored(part, 0).base
    return out


def in_files(plant, broker, load, data=None):
    """Plants a fault in the files of a broker that is not running."""
    data = data or broker.data
    if plant == "offsets":
        for path in data.glob("__consumer_offsets-*/*.log"):
            path.write_bytes(b"")
        return
    if plant not in FILES:
        return
    found = victim(data, load)
    if found is None:
        return
    path, parts, at = found
    base = batch.Stored(parts[0], 0).base
    match plant:
        case "lost":
            parts = parts[:at]
        case "hole":
            del parts[at - 1]
        case "doubled":
            parts = renumber(parts + parts[at:at + 1], base)
        case "swapped":
            parts[at - 1], parts[at] = parts[at], parts[at - 1]
            parts = renumber(parts, base)
    path.write_bytes(b"".join(parts))
    for kind in (".index", ".timeindex"):
        path.with_suffix(kind).unlink(missing_ok=True)


def victim(data, load):
    """A last segment, its batches, and which of them, not the first, was acknowledged with sync since the last check."""
    for lane in load.running:
        logs = sorted((data / lane.partition.name).glob("*.log"))
        parts = pieces(logs[-1].read_bytes()) if logs else []
        for at in range(len(parts) - 1, 0, -1):
            sent = lane.partition.sent.get(batch.Stored(parts[at], 0).number)
            if sent is not None and sent.acked and sent.lane.synced:
                return logs[-1], parts, at
    return None


def in_input(plant):
    """A reader's tampering: drops the first batch it sees."""
    if plant != "unseen":
        return lambda batches: batches
    dropped = []

    def found(batches):
        for stored in batches:
            if not dropped:
                dropped.append(stored)
                continue
            yield stored

    return found
