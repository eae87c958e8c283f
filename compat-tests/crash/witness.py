"""librdkafka beside the raw load: an idempotent producer, and a consumer group that commits what it has read."""

import threading

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from crash.history import Fault
from harness.wait import until

TOPIC = "witnessed"
FAST = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 20, "retry.backoff.max.ms": 100, "log_level": 2}


class Witness:
    """Both clients, each in its thread, through all lives of the broker."""

    def __init__(self, broker):
        self.broker = broker
        self.acked = self.sent = 0
        self.consumed = 0
        self.committed = 0
        self.fault = None
        self.ending = threading.Event()
        self.threads = []

    def start(self):
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
        for work in (self.produce, self.consume):
            self.threads.append(threading.Thread(target=self.guard, args=(work,), daemon=True))
            self.threads[-1].start()

    def guard(self, work):
        try:
            work()
        except BaseException as error:
            self.fault = error

    def produce(self):
        producer = Producer({
            "bootstrap.servers": self.broker.bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 5,
            "message.timeout.ms": 300000, "socket.timeout.ms": 10000, **FAST})

        def report(error, message):
            if error:
                raise Fault(f"librdkafka gave up on a record: {error}")
            if message.offset() != self.acked:
                raise Fault(f"record {self.acked} was acknowledged at offset {message.offset()}")
            self.acked += 1

        while not self.ending.is_set():
            producer.produce(TOPIC, value=str(self.sent), partition=0, on_delivery=report)
            self.sent += 1
            producer.poll(0)
            self.ending.wait(0.004)
        producer.flush(120)

    def consume(self):
        consumer = Consumer({
            "bootstrap.servers": self.broker.bootstrap, "group.id": "witness", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "session.timeout.ms": 6000, "heartbeat.interval.ms": 500, **FAST})
        consumer.subscribe([TOPIC])
        expected = None
        while not (self.ending.is_set() and self.consumed >= self.sent == self.acked):
            for message in consumer.consume(500, timeout=0.2):
                if message.error():
                    continue
                number = int(message.value())
                if number != message.offset():
                    raise Fault(f"record {number} came from offset {message.offset()}")
                if number != expected and not self.committed <= number <= self.consumed:
                    raise Fault(f"the group went on at {number}; committed was {self.committed}, read {self.consumed}")
                expected = number + 1
                self.consumed = max(self.consumed, expected)
            if expected is not None and expected > self.committed:
                try:
                    consumer.commit(offsets=[TopicPartition(TOPIC, 0, expected)], asynchronous=False)
                    self.committed = expected
                except KafkaException:
                    # The broker is away or the group is moving; the next turn commits more.
                    pass
        consumer.close()

    def finish(self):
        """Everything sent must come out of the group in the end."""
        self.ending.set()
        until(lambda: self.fault or not any(thread.is_alive() for thread in self.threads),
              f"the group reads everything: sent {self.sent}, acked {self.acked}, read {self.consumed}", 120)
        if self.fault:
            raise self.fault

    def stop(self):
        self.ending.set()
