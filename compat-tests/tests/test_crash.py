"""Short forms of the crash tests (`crash/run` has the long ones), and the proof that each notices a planted fault.

Power cuts and full disks need root and loop devices. Where there are none they are skipped, which CI counts as failed.
"""

import asyncio
import os
import time

import pytest

from crash import cuts, disk, flat, flips, full, histories, judge, kills, plants, soak
from crash.history import Fault

SEED = int(os.environ.get("COMPAT_SEED", time.time()))
KILLS = int(os.environ.get("COMPAT_KILLS", "20"))
own_disk = pytest.mark.skipif(disk.usable() is not None, reason=f"no disk of its own: {disk.usable()}")


# What a log that was tampered with is found to be; which of them comes first depends on where the fault fell.
GONE = ("is lost", "records are missing", "synced and acknowledged was", "was acknowledged at")
# The broker itself finds the gap, and does not serve what is behind it (KAFKA_STORAGE_ERROR).
REFUSED = ("says 56",)
MOVED = (*GONE, "out of order", "sent before it, is not")


def noticed(work, *words):
    with pytest.raises(AssertionError) as caught:
        asyncio.run(work)
    said = str(caught.value)
    assert any(word in said for word in words), said


def test_kills_under_load_lose_and_double_nothing():
    asyncio.run(kills.run(KILLS, SEED))


@pytest.mark.parametrize("plant, words", [
    ("lost", GONE),
    ("hole", [*GONE, *REFUSED]),
    ("doubled", ["is stored twice"]),
    ("swapped", MOVED),
    ("offsets", ["committed offset is -1"]),
    ("unseen", GONE),
])
def test_the_checker_notices(plant, words):
    assert plant in plants.FILES + plants.INPUT
    noticed(kills.run(5, SEED, plant, topics=0.3, witness=False), *words)


@own_disk
def test_power_cuts_take_nothing_that_was_synced_and_only_ends_of_logs():
    asyncio.run(cuts.run(5, SEED))


@own_disk
@pytest.mark.parametrize("plant", ["nosync", "hole"])
def test_the_checker_of_power_cuts_notices(plant):
    noticed(cuts.run(6, SEED, plant, topics=0.3), "synced and acknowledged was", "records are missing", "is lost", "topics made and lost", "was acknowledged at", "committed offset", *REFUSED)


@own_disk
def test_a_full_disk_is_read_and_refused_and_goes_on_without_a_restart():
    asyncio.run(full.run(2, SEED))


@own_disk
def test_the_checker_of_full_disks_notices():
    noticed(full.run(1, SEED, "lost"), *GONE)


def test_histories_of_transactions_hold_although_broker_and_writers_are_killed():
    histories.run(2, SEED)


@pytest.mark.parametrize("plant, words", [("flipped", ["torn", "lost", "taken back"]), ("uncommitted", ["aborted and seen"]), ("back", ["moved back"])])
def test_the_checker_of_histories_notices(plant, words):
    assert plant in histories.PLANTS
    with pytest.raises(Fault) as caught:
        histories.run(1, SEED, plant, clients=("librdkafka", "librdkafka"))
    assert any(word in str(caught.value) for word in words), caught.value


HERE, THERE = ("ledger", 0), ("ledger", 1)


@pytest.mark.parametrize("change, word", [
    (lambda rows, history: None, None),
    (lambda rows, history: rows[HERE].pop(0), "torn"),
    (lambda rows, history: (rows[HERE].pop(0), rows[THERE].pop(0)), "lost"),
    (lambda rows, history: rows[HERE].append((9, "w/0/0")), "doubled"),
    (lambda rows, history: rows.update({HERE: [(0, "w/2/0"), (2, "w/0/0")]}), "out of order"),
    (lambda rows, history: rows[HERE].insert(1, (1, "w/1/0")), "aborted and seen"),
    (lambda rows, history: rows[HERE].append((9, "w/7/0")), "never written there"),
    (lambda rows, history: history.see(HERE, 0, "w/2/0"), "taken back"),
    (lambda rows, history: history.see(THERE, 8, "w/0/1"), "taken back"),
    (lambda rows, history: history.offset("w", 1), "moved back"),
    (lambda rows, history: history.offset("w", 3), "torn from its offsets"),
])
def test_the_judge_of_histories_knows_each_fault(change, word):
    history = judge.History()
    for number, state in ((0, judge.COMMITTED), (1, judge.ABORTED), (2, judge.ASKED)):
        transaction = history.begin("w", number)
        transaction.records, transaction.offset, transaction.state = [HERE, THERE], number, state
    rows = {HERE: [(0, "w/0/0"), (2, "w/2/0")], THERE: [(0, "w/0/1"), (2, "w/2/1")]}
    for offset in (0, 2):
        history.offset("w", offset)

    def all_of_it():
        change(rows, history)
        return history.judge(rows)

    if word is None:
        assert all_of_it() == 2
    else:
        with pytest.raises(Fault, match=word):
            all_of_it()


def test_damaged_files_are_never_taken_for_good():
    asyncio.run(flips.run(12, SEED))


@pytest.mark.parametrize("plant, words", [("served", ["written was"]), ("silent", ["the log says nothing"])])
def test_the_checker_of_damaged_files_notices(plant, words):
    noticed(flips.run(20, SEED, plant), *words)


# At full speed the soak measures the machine as well as the broker: it has its own command, and runs here on request.
if os.environ.get("COMPAT_FULL") == "1":

    def test_a_short_soak_is_without_errors():
        asyncio.run(soak.run(15, SEED, growth=False))

    def test_the_soak_notices_files_that_stay_open():
        noticed(soak.run(12, SEED, "leak"), "open files grows")


def test_only_what_grows_is_called_growing():
    wandering = [100 + (number * 37) % 9 for number in range(60)]
    assert flat.grows(wandering, 0.05, 2) is None
    assert flat.grows([sample + number * 0.5 for number, sample in enumerate(wandering)], 0.05, 2) > 15
    assert flat.grows([1000 - number for number in range(60)], 0.05, 2) is None
    with pytest.raises(ValueError):
        flat.grows([1, 2, 3], 0.05, 2)


def test_a_lane_out_of_order_is_a_fault():
    from crash.history import Partition, Sent
    from crash.load import Lane

    partition = Partition("t", 0)
    lane = Lane("lane", partition, 1, False, "none", None, False)
    for turn in (0, 2):
        sent = Sent(turn, lane, turn, 1, 0)
        if turn == 2:
            with pytest.raises(Fault, match="sent before it, is not"):
                lane.order(sent, partition)
        else:
            lane.order(sent, partition)
    lane.void.add(1)
    lane.order(Sent(2, lane, 2, 1, 0), partition)
    with pytest.raises(Fault, match="out of order"):
        lane.order(Sent(1, lane, 1, 1, 0), partition)
