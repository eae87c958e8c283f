"""A pair of fresh brokers with the same settings, and the walks over it."""

import os
import subprocess
from pathlib import Path

from differ import features, schemas, state, tape
from differ.driver import Driver
from differ.lines import Live
from differ.walks import BARRIER, FAMILIES, NEEDS, Walk
from harness.broker import Broker, free_port
from harness.clients import WORK
from harness.kafka import Kafka

SETTINGS = {
    "offsets.topic.num.partitions": "4", "transaction.state.log.num.partitions": "4", "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1", "share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "0", "num.partitions": "2",
    # Nothing happens by itself while answers are compared.
    "log.retention.check.interval.ms": "3600000", "log.retention.ms": "-1", "log.initial.task.delay.ms": "3600000", "log.cleaner.enable": "false", "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3600000",
    "group.coordinator.rebalance.protocols": "classic,consumer,share,streams",
    # What a group decides shows in the next answer.
    **{f"group.{kind}.{name}": value for kind in ("consumer", "share", "streams") for name, value in (("assignment.interval.ms", "0"), ("assignor.offload.enable", "false"))},
    "group.streams.initial.rebalance.delay.ms": "0", "metric.reporters": "Telemetry",
}
# Requests on one pair: more would make the last look at all state too large.
ROUND = 3000
STEPS = 14


def run(folder, arguments, known, tell):
    apis = schemas.load()
    total, number, round_ = None, 0, 0
    while True:
        left = arguments.count - (total.requests if total else 0)
        driver = one_pair(folder / str(round_), apis, arguments, known, tell, number, min(left, ROUND), round_)
        if total:
            driver.requests += total.requests
            driver.unexplained += total.unexplained
        total, number, round_ = driver, driver.walk_next, round_ + 1
        if total.requests >= arguments.count or arguments.walk is not None:
            return total


def one_pair(folder, apis, arguments, known, tell, number, wanted, round_):
    kafka, ours = Kafka(folder / "kafka", free_port(), SETTINGS), Broker(folder / "dohle", free_port(), SETTINGS)
    plugin = folder / "classes"
    subprocess.run(["javac", "-nowarn", "-Xlint:-removal", "-cp", f"{WORK}/java/libs/*", "-d", str(plugin), str(Path(__file__).with_name("Telemetry.java"))], check=True)
    kafka.classpath = f":{plugin}"
    try:
        kafka.spawn()
        ours.start()
        kafka.wait()
        driver = Driver(apis, Live("Kafka", kafka), Live("Dohle", ours), known, tell)
        driver.offers = driver.offered()
        driver.trace = tell if arguments.trace else None
        warm(driver)
        driver.settle(BARRIER)
        walk(driver, arguments, number, wanted, round_)
        if not ours.alive():
            raise AssertionError(f"the broker ended: {ours.log_tail()}")
        if arguments.record:
            tape.save(arguments.record, arguments.seed, driver.offers, driver.tape)
        return driver
    finally:
        if os.environ.get("DIFFER_LOG"):
            print(ours.log_text()[-5000:])
        for broker in (kafka, ours):
            if broker.process is not None:
                broker.kill()


def warm(driver):
    """The internal topics are there before anything is compared."""
    for side in (driver.kafka, driver.ours):
        if side.live:
            for kind in (0, 1):
                while side.call("states", driver.apis["FindCoordinator"], 2, {"Key": "warm", "KeyType": kind})["body"]["ErrorCode"]:
                    pass
            share = {"KeyType": 2, "CoordinatorKeys": ["warm:AAAAAAAAAAAAAAAAAAAAAQ:0"]}
            while side.call("states", driver.apis["FindCoordinator"], 6, share)["body"]["Coordinators"][0]["ErrorCode"]:
                pass
            # A coordinator answers when its partitions are loaded; each has some.
            for key in range(16):
                side_ready(side, driver, key)
                share_ready(side, driver, key)


def side_ready(side, driver, key):
    while side.call("states", driver.apis["OffsetFetch"], 7, {"GroupId": f"warm-{key}", "Topics": None, "RequireStable": False})["body"]["ErrorCode"]:
        pass
    while True:
        body = side.call("states", driver.apis["DescribeTransactions"], 0, {"TransactionalIds": [f"warm-{key}"]})["body"]
        if body["TransactionStates"][0]["ErrorCode"] not in (14, 15, 16):
            return


def share_ready(side, driver, key):
    topics = [{"TopicId": {"hex": "00" * 15 + "07"}, "Partitions": [{"Partition": key, "LeaderEpoch": 0}]}]
    while True:
        body = side.call("states", driver.apis["ReadShareGroupStateSummary"], 0, {"GroupId": f"warm-{key}", "Topics": topics})["body"]
        if body["Results"][0]["Partitions"][0]["ErrorCode"] not in (14, 15, 16):
            return


def walk(driver, arguments, number, wanted, round_):
    """First every API in every version, then sequences at random."""
    only = arguments.walk
    names = sorted(driver.offers)
    if round_ == 0:
        for name in names:
            if only in (None, number):
                one = Walk(driver, arguments.seed, number, "all")
                one.prepare(name)
                one.sweep(name)
            number += 1
    families = sorted(family for family in FAMILIES if NEEDS.get(family, "Fetch") in driver.offers)
    # Every family has its turn, also in a short run.
    least = number + len(families)
    while (only is None and (driver.requests < wanted or (round_ == 0 and number < least))) or (only is not None and number <= only):
        if only in (None, number):
            one = Walk(driver, arguments.seed, number, families[number % len(families)])
            one.prepare()
            one.wander(STEPS)
        number += 1
    driver.walk_next = number
    if only is None:
        state.look(driver)
        if round_ == 0:
            features.walk(driver, BARRIER)


def replay(folder, file, known, tell):
    kept = tape.Tape(file)
    ours = Broker(folder / "dohle", free_port(), SETTINGS)
    try:
        ours.start()
        driver = Driver(schemas.load(), kept, Live("Dohle", ours), known, tell)
        driver.offers = kept.offers
        warm(driver)
        kept.play(driver)
        assert ours.alive(), f"the broker ended: {ours.log_tail()}"
        return driver
    finally:
        ours.kill()
