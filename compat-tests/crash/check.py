"""Reads from the broker what the history must judge."""

import asyncio
import time

from confluent_kafka import Consumer, TopicPartition

from crash import batch, wire
from crash.history import Fault


async def read_on(connection, partition, found):
    """Reads everything behind what was read before; the log's end."""
    error, end = await wire.list_offset(connection, partition.topic, partition.index, wire.LATEST)
    assert error == 0, f"{partition.name}: ListOffsets says {error}"
    error, start = await wire.list_offset(connection, partition.topic, partition.index, wire.EARLIEST)
    assert error == 0, f"{partition.name}: ListOffsets says {error}"
    partition.skip_to(start)
    while partition.end < end:
        error, high, start, data = await wire.fetch(connection, partition.topic, partition.index, partition.end)
        assert error == 0, f"{partition.name}: fetch at {partition.end} says {error}"
        if high != end:
            raise Fault(f"{partition.name}: high watermark {high} and end {end} differ though nobody produces")
        partition.skip_to(start)
        before = partition.end
        for stored in found(batch.walk(data)):
            partition.found(stored)
        if partition.end == before:
            raise Fault(f"{partition.name}: nothing readable at offset {before} though the log ends at {end}")
    return end


async def check(load, partitions, cut=False, found=lambda batches: batches):
    """After a crash, before anybody sends again. `found` may tamper with what was read: a planted fault."""
    connection = await load.connect()
    for partition in partitions:
        if cut:
            partition.roll_back()
        end = await read_on(connection, partition, found)
        if end < partition.end:
            partition.fault(f"the log ends at {end}, but {partition.end} was read before")
        partition.complete(cut)
    await check_groups(load, connection)
    await check_topics(load, connection)
    await load.close()


async def check_groups(load, connection):
    for group in sorted({commits.group for commits in load.commits}):
        mine = [commits for commits in load.commits if commits.group == group]
        # Coordinators load their partitions after the start; they say so, and soon they are there.
        error, offsets, limit = 14, {}, time.monotonic() + 10
        while error in (14, 15, 16) and time.monotonic() < limit:
            error, offsets = await wire.committed(connection, group, mine[0].topic, [commits.partition for commits in mine])
            if error:
                await asyncio.sleep(0.005)
        assert error == 0, f"OffsetFetch of {group}: error {error}"
        for commits in mine:
            commits.check(offsets[commits.partition])


async def check_topics(load, connection):
    there = await wire.topics(connection)
    lost = (load.made | {partition.topic for partition in load.partitions}) - there
    back = load.gone & there
    if lost or back:
        raise Fault(f"topics made and lost: {sorted(lost)[:5]}; deleted and back: {sorted(back)[:5]}")
    # What was not confirmed may be either way, and stays so from now on.
    load.made |= load.unsure & there
    load.unsure.clear()


async def check_all_again(load):
    """Everything from each log's beginning: it must be what was read piece by piece."""
    connection = await load.connect()
    batches = 0
    for partition in load.partitions:
        _error, start = await wire.list_offset(connection, partition.topic, partition.index, wire.EARLIEST)
        partition.skip_to(start)
        expected = [sent for sent in partition.stored if sent.base + sent.count > start]
        at, position = start, 0
        while at < partition.end:
            error, _high, _start, data = await wire.fetch(connection, partition.topic, partition.index, at)
            assert error == 0, f"{partition.name}: fetch at {at} says {error}"
            for stored in batch.walk(data):
                sent = expected[position]
                if (stored.base, stored.number) != (sent.base, sent.number):
                    partition.fault(f"batch {stored.number} at {stored.base}, and before it was {sent.number} at {sent.base}")
                at, position = stored.end, position + 1
        batches += position
    await load.close()
    return batches


def check_with_client(load):
    """librdkafka, with checksums on, opens every record of every topic; the number of records."""
    consumer = Consumer({
        "bootstrap.servers": load.broker.bootstrap, "group.id": "judge", "enable.auto.commit": False, "check.crcs": True,
        "auto.offset.reset": "earliest", "fetch.max.bytes": 8 << 20, "log_level": 2})
    records = 0
    expected, places, left = {}, [], {}
    try:
        for partition in load.partitions:
            place = (partition.topic, partition.index)
            start, end = consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)
            if end > start:
                expected[place], left[place] = rest_of(partition, start), end
                places.append(TopicPartition(*place, start))
        consumer.assign(places)
        limit = time.monotonic() + 30
        while left:
            for message in consumer.consume(10000, timeout=0.05):
                place = (message.topic(), message.partition())
                if message.error():
                    raise Fault(f"{place}: librdkafka: {message.error()}")
                offset, number, index = next(expected[place])
                want = batch.value(number, index, len(message.value()) - len(b"%d/%d " % (number, index)))
                if (message.offset(), message.value()) != (offset, want):
                    raise Fault(f"{place}: record {message.offset()} is not record {index} of batch {number}")
                records += 1
                limit = time.monotonic() + 30
                if left[place] == offset + 1:
                    del left[place]
            if time.monotonic() > limit:
                raise Fault(f"librdkafka gets nothing more; wanted are {left}")
    finally:
        consumer.close()
    return records


def rest_of(partition, start):
    """Offset, batch and place in it of every record from `start` on."""
    for sent in partition.stored:
        for index in range(max(0, start - sent.base), sent.count):
            yield sent.base + index, sent.number, index
