"""R7 with the real process: flipped bits, lost pages and missing files under a stopped broker, then a start.

Whatever a reader gets afterwards must be what was written. What is gone or refused must be said in the broker's log. The
ten thousand damages of the simulated disk are in `tests/sim`.
"""

import asyncio
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from harness.broker import Broker, free_port
from crash import check, wire
from crash.history import Fault
from crash.kills import SETTINGS, keep
from crash.load import Load

KINDS = ("*.log", "*.index", "*.timeindex", "*.snapshot", "leader-epoch-checkpoint", "partition.metadata",
         "recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint", ".kafka_cleanshutdown")
WAYS = ("flip", "flip", "flip", "zero", "cut", "remove")
SAME, SHORT, GONE, REFUSED, CLIENT, CLOSED = "as written", "cut, and said", "a segment gone, and said", "refused, and said", "checksum tells the client", "no start, and said"


def damage(path, way, rng):
    """Harms one file; what was done, or `None` when it has nothing to harm."""
    data = bytearray(path.read_bytes())
    # Zeros written ahead are no data.
    length = len(data.rstrip(b"\0")) if path.suffix == ".log" else len(data)
    if way == "remove":
        path.unlink()
        return "removed"
    if not length:
        return None
    at = rng.randrange(length)
    match way:
        case "flip":
            data[at] ^= 1 << rng.randrange(8)
        case "zero":
            page = at // 512 * 512
            data[page:page + 512] = bytes(len(data[page:page + 512]))
        case "cut":
            del data[at:]
    path.write_bytes(data)
    return f"{way} at {at} of {length}"


async def read_partition(connection, partition, start, expected):
    """What a reader gets of one partition: one of the outcomes above, or a fault."""
    error, end = await wire.list_offset(connection, partition.topic, partition.index, wire.LATEST)
    if error:
        return REFUSED
    at = start
    for sent in expected:
        if at >= end:
            return SHORT
        error, _high, _start, data = await wire.fetch(connection, partition.topic, partition.index, at, 1)
        if error or not data:
            return REFUSED
        try:
            stored = next(check.batch.walk(data), None)
        except AssertionError:
            return CLIENT
        if stored is None:
            return REFUSED
        if stored.base > sent.base and any((later.base, later.number) == (stored.base, stored.number) for later in expected):
            return GONE
        if (stored.base, stored.number, stored.end - stored.base) != (sent.base, sent.number, sent.count):
            raise Fault(f"{partition.name}: at {at} comes batch {stored.number} with offsets {stored.base} to {stored.end}; "
                        f"written was {sent.number} at {sent.base}")
        at = stored.end
    if end != partition.end:
        raise Fault(f"{partition.name}: the log ends at {end}, written was up to {partition.end}")
    return SAME


async def judge(load, broker, starts):
    """The outcomes of all partitions."""
    connection = await load.connect()
    outcomes = Counter()
    for partition in load.partitions:
        start = starts[partition.name]
        expected = [sent for sent in partition.stored if sent.base + sent.count > start]
        try:
            outcomes[await read_partition(connection, partition, start, expected)] += 1
        except wire.Down:
            # Bytes that had to be there could not be sent: the connection ended instead.
            outcomes[REFUSED] += 1
            connection = await load.connect()
    await load.close()
    return outcomes


async def prepare(broker, load, clean):
    """A data folder with rolls, groups and retention, closed in good order or killed."""
    broker.start()
    await load.make_topics()
    for _ in range(3):
        load.start(load.lanes)
        await asyncio.sleep(0.7)
        await load.stop()
    await check.check(load, load.partitions)
    connection = await load.connect()
    starts = {}
    for partition in load.partitions:
        _error, starts[partition.name] = await wire.list_offset(connection, partition.topic, partition.index, wire.EARLIEST)
    await load.close()
    if clean:
        broker.stop()
    else:
        broker.kill()
    return starts


async def one_damage(pristine, load, starts, rng, plant):
    """Copies the folder, harms one file of it, starts, and reads everything; (what was done, outcomes)."""
    with tempfile.TemporaryDirectory(prefix="dohle-flip-") as folder:
        shutil.copytree(pristine, Path(folder) / "data")
        broker = Broker(Path(folder), free_port(), {**SETTINGS, "log.retention.check.interval.ms": "300000"})
        files = [path for path in broker.data.rglob("*.log" if plant == "silent" else rng.choice(KINDS)) if "__cluster_metadata" not in path.parts[-2]]
        if not files:
            return None, Counter()
        path = rng.choice(sorted(files))
        what = damage(path, "cut" if plant == "silent" else rng.choice(WAYS), rng)
        if what is None:
            return None, Counter()
        load.broker = broker
        try:
            try:
                broker.start()
            except AssertionError:
                if not broker.log_text().strip():
                    raise
                return what, Counter({CLOSED: 1})
            outcomes = await judge(load, broker, starts)
            said = [line for line in broker.log_text().splitlines() if " WARN " in line or " ERROR " in line]
            if plant == "silent":
                said = []
            if (outcomes[SHORT] or outcomes[REFUSED] or outcomes[GONE]) and not said:
                raise Fault(f"{path.relative_to(broker.data)} ({what}): {dict(outcomes)}, and the log says nothing")
            return what, outcomes
        except Fault as fault:
            keep(broker)
            raise Fault(f"{path.relative_to(broker.data)}, {what}: {fault}") from fault
        finally:
            await load.close()
            broker.kill()


async def run(count, seed, plant=None, tell=print):
    rng = random.Random(seed)
    started = time.monotonic()
    outcomes, harmed, partitions = Counter(), 0, 0
    for clean in (True, False):
        with tempfile.TemporaryDirectory(prefix="dohle-flips-") as folder:
            broker = Broker(Path(folder), free_port(), SETTINGS)
            load = Load(broker, seed, topics=0.15)
            try:
                starts = await prepare(broker, load, clean)
            finally:
                broker.kill()
            if plant == "served":
                load.partitions[0].stored[1].number += 1
            done = 0
            while done < count // 2:
                what, found = await one_damage(broker.data, load, starts, rng, plant)
                done += what is not None
                # What one damage did to the partition that it touched; the others must be as written.
                worst = next((kind for kind in (CLOSED, REFUSED, CLIENT, GONE, SHORT) if found[kind]), SAME)
                if sum(found[kind] for kind in (SHORT, GONE, REFUSED, CLIENT)) > 1:
                    raise Fault(f"one damage ({what}) reached several partitions: {dict(found)}")
                if what is not None:
                    outcomes[worst] += 1
                    harmed, partitions = harmed + 1, partitions + sum(found.values())
    assert not plant, f"the planted fault '{plant}' was not noticed"
    tell(f"flips: {harmed} damaged files, {partitions} partitions read after them: "
         + ", ".join(f"{number} {kind}" for kind, number in sorted(outcomes.items()))
         + f"; 0 wrong records taken for good; {time.monotonic() - started:.0f} s, seed {seed}")
    return outcomes
