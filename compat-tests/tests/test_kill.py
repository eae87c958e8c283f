"""kill -9 under an idempotent acks=all producer: nothing acknowledged is lost, nothing doubled, order kept."""

import os
import threading

from confluent_kafka import Producer

from harness.admin import new_topic
from harness.broker import start
from harness.clients import dump
from harness.wait import until

KILLS = int(os.environ.get("COMPAT_KILLS", "15"))


def test_kill_under_an_idempotent_producer(folder):
    broker = start(folder)
    try:
        kill_under_an_idempotent_producer(broker, KILLS)
    finally:
        broker.kill()


def kill_under_an_idempotent_producer(broker, kills):
    stop = threading.Event()
    acked = []
    try:
        topic = new_topic(broker, "killed", partitions=2)
        producer = Producer({
            "bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 2,
            "message.timeout.ms": 120000, "reconnect.backoff.max.ms": 200, "retry.backoff.max.ms": 200,
            "socket.timeout.ms": 5000, "log_level": 2})
        errors = []

        def report(error, message):
            if error:
                errors.append(error)
            else:
                acked.append((message.partition(), message.offset(), int(message.value())))

        def send():
            number = 0
            while not stop.is_set():
                try:
                    producer.produce(topic, value=str(number), partition=number % 2, on_delivery=report)
                except BufferError:
                    # The broker was away for long.
                    producer.poll(0.1)
                    continue
                number += 1
                producer.poll(0)
                if number % 50 == 0:
                    stop.wait(0.002)
            producer.flush(120)

        thread = threading.Thread(target=send)
        thread.start()
        for _ in range(kills):
            before = len(acked)
            until(lambda: len(acked) > before + 2000, "the producer makes progress")
            broker.kill()
            broker.start()
        stop.set()
        thread.join(150)
        assert not thread.is_alive()
        assert not errors, errors[:3]
        stored = {0: [], 1: []}
        for partition, offset, _timestamp, _key, value, _headers in dump("franz-go", broker, topic):
            stored[partition].append((offset, int(value)))
        place = {(p, offset): value for p in stored for offset, value in stored[p]}
        lost = [a for a in acked if place.get(a[:2]) != a[2]]
        assert not lost, f"{len(lost)} of {len(acked)} acknowledged records are lost or elsewhere: {lost[:5]}"
        for partition, records in stored.items():
            values = [value for _offset, value in records]
            assert len(values) == len(set(values)), "a record is stored twice"
            assert values == sorted(values), "order is kept"
        print(f"{kills} kills, {len(acked)} acknowledged, 0 lost, 0 doubled")
    finally:
        stop.set()
