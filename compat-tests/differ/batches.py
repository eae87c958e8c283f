"""Record batches as plain values, so that requests and answers can be printed, kept, mapped and compared."""

import json
import struct

import crc32c

from harness.raw import zigzag

HEAD = struct.Struct(">qiibIhiqqqhii")
# What a batch is when nothing else is said.
PLAIN = {
    "base": 0, "epoch": -1, "magic": 2, "attributes": 0, "last": None, "first_time": 1_700_000_000_000, "max_time": None,
    "ProducerId": -1, "ProducerEpoch": -1, "sequence": -1, "count": None, "records": [], "spoil": None,
}


def body(records):
    out = bytearray()
    for number, (key, value) in enumerate(records):
        record = b"\0" + zigzag(0) + zigzag(number)
        for part in (key, value):
            record += zigzag(-1) if part is None else zigzag(len(part)) + part.encode()
        record += zigzag(0)
        out += zigzag(len(record)) + record
    return bytes(out)


def build(batch):
    """The bytes of one batch; `spoil` damages it: crc, length, short, or codec (says so and is none)."""
    batch = {**PLAIN, **batch}
    records = batch["records"]
    count = len(records) if batch["count"] is None else batch["count"]
    last = len(records) - 1 if batch["last"] is None else batch["last"]
    newest = batch["first_time"] if batch["max_time"] is None else batch["max_time"]
    tail = struct.pack(
        ">hiqqqhii", batch["attributes"], last, batch["first_time"], newest, batch["ProducerId"], batch["ProducerEpoch"], batch["sequence"], count
    ) + body(records)
    crc, length = crc32c.crc32c(tail), len(tail) + 9
    if batch["spoil"] == "crc":
        crc ^= 1
    if batch["spoil"] == "length":
        length += 5
    out = struct.pack(">qiibI", batch["base"], length, batch["epoch"], batch["magic"], crc) + tail
    return out[:-3] if batch["spoil"] == "short" else out


def take_apart(content):
    """The batches of stored bytes; a batch that is cut off at the end is left out, as clients do."""
    out, at = [], 0
    while at + HEAD.size <= len(content):
        base, length, epoch, magic, crc, attributes, last, first, newest, producer, producer_epoch, sequence, count = HEAD.unpack_from(content, at)
        end = at + 12 + length
        if end > len(content):
            break
        appended = attributes & 8
        out.append({
            "base": base, "epoch": epoch, "magic": magic, "whole": crc32c.crc32c(content[at + 21 : end]) == crc, "attributes": attributes,
            "last": last, "first_time": first, "max_time": "now" if appended or attributes & 32 else newest,
            "ProducerId": producer, "ProducerEpoch": producer_epoch, "sequence": sequence, "count": count,
            "records": content[at + HEAD.size : end].hex() if not attributes & 32 else "marker",
        })
        if attributes & 32:
            # A marker's record: its time is now, its type and the coordinator's epoch are in the key and the value.
            out[-1]["first_time"] = "now"
            out[-1]["records"] = content[at + HEAD.size : end].hex()
        at = end
    return out


def with_bytes(value):
    """Values as they are kept, with what stands for bytes turned into bytes."""
    if isinstance(value, dict):
        if set(value) == {"batches"}:
            return b"".join(build(batch) for batch in value["batches"])
        if set(value) == {"hex"}:
            return bytes.fromhex(value["hex"])
        return {name: with_bytes(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_bytes(inner) for inner in value]
    return value


def without_bytes(value, name=None):
    """The other way; the records of a Fetch answer are taken apart."""
    if isinstance(value, dict):
        return {key: without_bytes(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_bytes(inner) for inner in value]
    if isinstance(value, (bytes, bytearray)):
        return {"stored": take_apart(bytes(value))} if name == "Records" else {"hex": bytes(value).hex()}
    return value


def text(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
