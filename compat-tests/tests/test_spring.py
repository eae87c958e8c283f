"""A Spring Boot program with spring-kafka: listener containers with and without transactions, retry topics and
dead-letter topics, requests with replies, batches; also while the broker is killed and comes back."""

import json
import os

import pytest

from harness.broker import start
from harness.clients import committed, dump
from harness.programs import Program, jvm
from harness.wait import until

COUNT = 2000 if os.environ.get("COMPAT_FULL") == "1" else 60


def bad(count):
    return [n for n in range(count) if n % 10 == 7]


@pytest.mark.parametrize("killed", [False, True], ids=["calm", "killed"])
def test_a_spring_program_with_transactions_retries_and_dead_letters(folder, killed):
    broker = start(folder / "broker", transaction_state_log_num_partitions="4")
    program = Program(folder, "shop", jvm(
        "spring", f"-Dcount={COUNT}", "dohle.Orders", f"--spring.kafka.bootstrap-servers={broker.bootstrap}", "--logging.level.root=WARN"))
    try:
        program.start()
        if killed:
            until(lambda: program.check() or f"invoiced {COUNT // 2}" in program.tail(100000), "half of the invoices", 120)
            broker.kill()
            broker.start()
        said = program.finish(300)
        result = json.loads(next(line for line in said.splitlines() if line.startswith("result "))[7:])

        good = [n for n in range(COUNT) if n % 10 != 7] + [COUNT]
        assert sorted(map(int, result["invoices"])) == good
        assert result["deadOrders"] == {str(n): "orders" for n in bad(COUNT)}
        assert sorted(map(int, result["payments"])) == good[:-1]
        assert sorted(map(int, result["deadPayments"])) == bad(COUNT)
        assert result["events"] == list(range(COUNT))
        assert result["torn"] and result["answers"] == [f"the answer to how much is {n}" for n in range(5)]
        if not killed:
            assert set(result["deadPayments"].values()) == {3}, "three tries each"
            assert set(result["payments"].values()) == {1} and set(result["invoices"].values()) == {1}

        # What the broker has: each invoice once, and what was torn only for those who read everything.
        invoices = [int(value) for values in committed("librdkafka", broker, "invoices", "").values() for value in values]
        assert sorted(invoices) == good
        dead = [int(value) for values in committed("librdkafka", broker, "orders-dlt", "").values() for value in values]
        assert sorted(dead) == bad(COUNT)
        everything = [int(record[4]) for record in dump("librdkafka", broker, "invoices")]
        assert everything.count(-1) == 5, "the five of the transaction that was aborted"
        assert all(everything.count(n) >= 3 for n in bad(COUNT)), "every try was written, and aborted"
    finally:
        program.kill()
        broker.kill()
