"""R4: power cuts. The data lie on ext4 in a file; the shutdown ioctl stops it in the middle of the load, and what had
not reached the disk is gone when it is mounted again."""

import asyncio
import random
import tempfile
import time
from pathlib import Path

from harness.broker import Broker, free_port
from crash import check, plants
from crash.disk import LoopDisk, usable
from crash.kills import SETTINGS, keep
from crash.load import Load


async def cut_under_load(broker, disk, load, seconds, rng):
    """One life: load, a few files written back, the cut, and the end of a process that lost its disk."""
    before = load.progressed
    load.start()
    end = time.monotonic() + seconds
    limit = time.monotonic() + 30
    while time.monotonic() < end or load.progressed < before + 20:
        load.raise_faults()
        assert broker.alive(), f"the broker ended by itself: {broker.log_tail()}"
        assert time.monotonic() < limit, "no progress for 30 s"
        await asyncio.sleep(0.01)
    if rng.random() < 0.4:
        await asyncio.to_thread(disk.write_some_back, rng)
    await asyncio.to_thread(disk.cut)
    # What the broker answers now must hold, too: it may acknowledge nothing that it cannot bring to the disk.
    await asyncio.sleep(rng.choice((0.0, 0.0, 0.05)))
    broker.kill()
    await load.ended()
    disk.detach()
    disk.attach()


async def run(cuts, seed, plant=None, topics=0.5, tell=print):
    reason = usable()
    assert reason is None, f"power cuts cannot be made here: {reason}"
    rng = random.Random(seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dohle-cuts-") as folder:
        disk = LoopDisk(folder, 384)
        settings = {**SETTINGS, "log.dirs": str(disk.mount / "data")}
        if plant == "nosync":
            settings["log.flush.acks"] = "never"
        broker = Broker(Path(folder), free_port(), settings)
        lost = synced = 0
        try:
            broker.start()
            load = Load(broker, seed, topics)
            await load.make_topics()
            for number in range(1, cuts + 1):
                await cut_under_load(broker, disk, load, rng.uniform(0.05, 0.6), rng)
                for lane in load.lanes:
                    if not lane.synced:
                        lane.forget()
                if plant in plants.FILES:
                    plants.in_files(plant, broker, load, disk.mount / "data")
                broker.start()
                await check.check(load, load.partitions, cut=True, found=plants.in_input(plant))
                if number % 20 == 0:
                    tell(f"{number} cuts, {load.records} records acknowledged, {time.monotonic() - started:.0f} s", flush=True)
            load.start([lane for lane in load.lanes if lane.pending])
            await asyncio.sleep(0.3)
            await load.stop()
            await check.check(load, load.partitions)
            batches = await check.check_all_again(load)
            records = await asyncio.to_thread(check.check_with_client, load)
            assert not plant, f"the planted fault '{plant}' was not noticed"
            lost = sum(partition.lost for partition in load.partitions)
            synced = sum(lane.acked for lane in load.lanes if lane.synced)
            broker.stop()
            disk.detach()
            disk.check()
        except BaseException:
            keep(broker)
            raise
        finally:
            try:
                broker.kill()
            finally:
                disk.remove()
    tell(f"cuts: {cuts} power cuts, {load.records} records in {load.progressed} batches acknowledged, {synced} batches with sync, "
         f"{lost} unsynced acknowledged batches gone, each from the end of its log; {batches} batches read again byte by byte, "
         f"{records} records opened by librdkafka, {sum(c.acked + 1 for c in load.commits)} commits acknowledged")
    tell(f"cuts: 0 synced lost, 0 doubled, 0 holes, 0 committed offsets moved back; {time.monotonic() - started:.0f} s, seed {seed}")
    return load
