"""R9: the disk is full. Reads go on, writes get a known error, and when room returns everything goes on by itself."""

import asyncio
import random
import tempfile
import time
from pathlib import Path

from harness.broker import Broker, free_port
from crash import batch, check, plants, wire
from crash.disk import LoopDisk, usable
from crash.history import Fault
from crash.kills import SETTINGS, keep
from crash.load import Lane, Load

# What Kafka's clients know as "try again": KAFKA_STORAGE_ERROR for records; for commits, and for changes of topics and
# producer ids, what the coordinator and the controller say when they cannot write.
KNOWN = {wire.STORAGE, 14, 15, 16, 7, 41, -1}


async def until(condition, what, load, seconds=60, meanwhile=None):
    limit = time.monotonic() + seconds
    while not condition():
        if meanwhile:
            await asyncio.to_thread(meanwhile)
        load.raise_faults()
        assert load.broker.alive(), f"the broker ended: {load.broker.log_tail()}"
        if time.monotonic() > limit:
            raise Fault(f"not within {seconds} s: {what}")
        await asyncio.sleep(0.01)


async def read_everything(load, connection):
    """Every partition from its beginning to its end, while nothing can be written; the number of batches."""
    batches = 0
    for partition in load.partitions:
        _error, at = await wire.list_offset(connection, partition.topic, partition.index, wire.EARLIEST)
        error, end = await wire.list_offset(connection, partition.topic, partition.index, wire.LATEST)
        while not error and at < end:
            error, _high, _start, data = await wire.fetch(connection, partition.topic, partition.index, at)
            for stored in batch.walk(data):
                at, batches = stored.end, batches + 1
        if error:
            raise Fault(f"{partition.name}: reading says {error} while the disk is full")
    return batches


async def use(load, connection, topic):
    """A topic that was made on a full disk must serve, too, when there is room."""
    limit = time.monotonic() + 20
    error = wire.STORAGE
    while error and time.monotonic() < limit:
        body = wire.produce(topic, 0, -1, batch.build(Lane.numbers, "none", 1, 10))
        error, _base = wire.produced(await connection.send(wire.PRODUCE, 8, body))
        await asyncio.sleep(0.05)
    if error:
        raise Fault(f"{topic}, made on a full disk, says {error} though room has returned")


async def one_round(load, disk, rng, plant):
    """Full while everything is under way, and then room again."""
    load.start(load.lanes)
    await asyncio.sleep(rng.uniform(0.1, 0.4))
    refused = {lane: lane.refused for lane in load.running}
    # Retention makes room now and then; it is taken again at once.
    refill = disk.fill if plant != "room" else None
    writers = [lane for lane in load.running if lane.acks]
    await until(lambda: sum(lane.refused > refused[lane] for lane in writers) >= len(writers) * 3 // 4,
                "most producers are refused while the disk is full", load, meanwhile=refill)
    connection = await load.connect()
    batches = await read_everything(load, connection)
    await wire.topics(connection)
    late = f"full-{rng.randrange(10 ** 9)}"
    created = await wire.create_topic(connection, late, 1, {})
    assert created in KNOWN | {0}, f"creating a topic on a full disk: error {created}"
    errors = {error for lane in load.running for error in lane.errors}
    if not errors <= KNOWN | {wire.OUT_OF_ORDER}:
        raise Fault(f"producers got errors {sorted(errors)} from a full disk")
    await asyncio.to_thread(disk.free)
    acked = {lane: lane.acked for lane in load.running}
    commits = {commits: commits.acked for commits in load.commits}
    began = time.monotonic()
    await until(lambda: all(lane.acked > acked[lane] + 2 for lane in writers), "every producer goes on when room returns", load)
    active = [group for group in load.committing]
    await until(lambda: all(c.acked > commits[c] for c in load.commits if c.group in active), "every group commits again", load)
    took = time.monotonic() - began
    error = await wire.create_topic(connection, f"room-{rng.randrange(10 ** 9)}", 1, {})
    if error:
        raise Fault(f"creating a topic when room has returned: error {error}")
    if created == 0:
        await use(load, connection, late)
    await load.stop()
    return batches, took


async def run(rounds, seed, plant=None, topics=0.3, tell=print):
    reason = usable()
    assert reason is None, f"a small disk cannot be made here: {reason}"
    rng = random.Random(seed)
    started = time.monotonic()
    read, slowest = 0, 0.0
    with tempfile.TemporaryDirectory(prefix="dohle-full-") as folder:
        # The topics without retention grow with the rounds; room must be left when the filling is taken away.
        disk = LoopDisk(folder, 400 + 16 * rounds)
        broker = Broker(Path(folder), free_port(), {**SETTINGS, "log.dirs": str(disk.mount / "data")})
        try:
            broker.start()
            process = broker.process.pid
            load = Load(broker, seed, topics, pace=0.004)
            await load.make_topics()
            for _ in range(rounds):
                batches, took = await one_round(load, disk, rng, plant)
                read, slowest = read + batches, max(slowest, took)
                await check.check(load, load.partitions, found=plants.in_input(plant))
            assert broker.process.pid == process and broker.alive()
            # Dying while full, and starting while still full, loses nothing either.
            load.start(load.lanes)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(disk.fill)
            await asyncio.sleep(0.3)
            broker.kill()
            await load.ended()
            # Of what was in flight without an answer, one may have been taken back and the next have found room.
            for sent in [sent for partition in load.partitions for sent in partition.sent.values()]:
                if not sent.acked and not sent.lane.repeats(False):
                    sent.lane.void.add(sent.turn)
            if plant in plants.FILES:
                plants.in_files(plant, broker, load, disk.mount / "data")
            broker.start()
            await check.check(load, load.partitions)
            disk.free()
            load.start([lane for lane in load.lanes if lane.acks])
            before = {lane: lane.acked for lane in load.running}
            await until(lambda: all(lane.acked > before[lane] + 2 for lane in load.running), "everybody goes on after a start on a full disk", load)
            await load.stop()
            await check.check(load, load.partitions)
            batches = await check.check_all_again(load)
            records = await asyncio.to_thread(check.check_with_client, load)
            assert not plant, f"the planted fault '{plant}' was not noticed"
        except BaseException:
            keep(broker)
            raise
        finally:
            try:
                broker.kill()
            finally:
                disk.remove()
    errors = sorted({error for lane in load.lanes for error in lane.errors})
    refused = sum(lane.refused for lane in load.lanes)
    tell(f"full: {rounds} times full and back without a restart, one start while full; {refused} batches refused with errors {errors}, "
         f"{read} batches read while full, everybody writes again after at most {slowest:.1f} s, {load.records} records acknowledged, "
         f"{batches} batches read again byte by byte, {records} records opened by librdkafka")
    tell(f"full: 0 lost, 0 doubled, 0 committed offsets moved back; {time.monotonic() - started:.0f} s, seed {seed}")
    return load
