"""R3: kill -9 in a loop under load."""

import asyncio
import random
import subprocess
import tempfile
import time
from pathlib import Path

from harness.broker import Broker, free_port
from crash import check, plants
from crash.load import Load
from crash.witness import Witness

SETTINGS = {
    "auto.create.topics.enable": "false",
    "log.initial.task.delay.ms": "0",
    "log.retention.check.interval.ms": "300",
    "log.flush.offset.checkpoint.interval.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
    "offsets.topic.segment.bytes": "1048576",
}


async def kill_under_load(broker, load, seconds):
    """One life of the broker: load, then SIGKILL in the middle of it."""
    before = load.progressed
    load.start()
    limit = time.monotonic() + 30
    end = time.monotonic() + seconds
    while time.monotonic() < end or load.progressed < before + 20:
        load.raise_faults()
        assert broker.alive(), f"the broker ended by itself: {broker.log_tail()}"
        assert time.monotonic() < limit, "no progress for 30 s"
        await asyncio.sleep(0.01)
    broker.kill()
    await load.ended()


def kill_while_it_starts(broker, seconds):
    """The broker dies again while it recovers."""
    log = open(broker.folder / "broker.log", "ab")
    process = subprocess.Popen(broker.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    time.sleep(seconds)
    process.kill()
    process.wait()
    log.close()


async def run(kills, seed, plant=None, topics=1.0, witness=True, tell=print):
    rng = random.Random(seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dohle-kills-") as folder:
        broker = Broker(Path(folder), free_port(), SETTINGS)
        broker.start()
        load = Load(broker, seed, topics)
        seen = Witness(broker) if witness else None
        early = 0
        try:
            await load.make_topics()
            if seen:
                seen.start()
            for number in range(1, kills + 1):
                await kill_under_load(broker, load, rng.uniform(0.03, 0.5))
                if plant:
                    plants.in_files(plant, broker, load)
                if rng.random() < 0.1:
                    kill_while_it_starts(broker, rng.uniform(0.0, 0.06))
                    early += 1
                broker.start()
                touched = {lane.partition.name for lane in load.running}
                some = [p for p in load.partitions if p.name in touched or rng.random() < 0.1 or plant]
                await check.check(load, some, found=plants.in_input(plant))
                if number % 50 == 0:
                    tell(f"{number} kills, {load.records} records acknowledged, {time.monotonic() - started:.0f} s", flush=True)
            # What idempotent producers still have in hand must go in once, too.
            load.start([lane for lane in load.lanes if lane.pending])
            await asyncio.sleep(0.3)
            await load.stop()
            await check.check(load, load.partitions)
            if seen:
                seen.finish()
            batches = await check.check_all_again(load)
            records = await asyncio.to_thread(check.check_with_client, load)
            assert not plant, f"the planted fault '{plant}' was not noticed"
            rolled = sum(1 for _ in broker.data.glob("*/*.log"))
            strays = [path.name for path in broker.data.glob("*-stray")]
            assert not strays, f"folders of deleted topics were kept: {strays}"
        except BaseException:
            keep(broker)
            raise
        finally:
            if seen:
                seen.stop()
            broker.kill()
    tell(f"kills: {kills} kills ({early} more while it started), {load.records} records in {load.progressed} batches acknowledged, "
         f"{batches} batches read again byte by byte, {records} records opened by librdkafka, {rolled} segments at the end, "
         f"{len(load.producers)} producer ids, {sum(c.acked + 1 for c in load.commits)} commits acknowledged"
         + (f", {seen.acked} records through librdkafka's idempotent producer and {seen.consumed} through its group" if seen else ""))
    tell(f"kills: 0 lost, 0 doubled, 0 out of order, 0 committed offsets moved back; {time.monotonic() - started:.0f} s, seed {seed}")
    return load


def keep(broker):
    """Leaves what the broker said for whoever looks at a failure."""
    notable = [line for line in broker.log_text().splitlines() if " WARN " in line or " ERROR " in line or "panick" in line]
    print("--- broker.log, warnings at the end ---", *notable[-25:], sep="\n", flush=True)
