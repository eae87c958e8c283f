"""One librdkafka client at full speed, as a process of its own: `produce` or `consume`, until its input closes.

Prints counts as JSON at the end; an error of the client ends it with a message.
"""

import json
import sys
import threading

from confluent_kafka import Consumer, Producer

VALUE = b"".join(b"%d the quick brown fox jumps over the lazy dog; " % number for number in range(40))[:1000]


def ending():
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    return stop


def fail(error):
    sys.exit(f"client error: {error}")


def produce(bootstrap, topic, codec, rate):
    """At most `rate` records a second; 0 for as many as go."""
    errors = []
    producer = Producer({
        "bootstrap.servers": bootstrap, "enable.idempotence": True, "compression.type": codec, "linger.ms": 5,
        "queue.buffering.max.messages": 20000, "error_cb": errors.append, "log_level": 3})
    acked = [0]

    def report(error, _message):
        errors.extend([error] if error else [])
        acked[0] += not error

    stop, sent = ending(), 0
    while not stop.is_set() and not errors:
        try:
            producer.produce(topic, value=VALUE, on_delivery=report)
            sent += 1
        except BufferError:
            producer.poll(0.05)
        if sent % 100 == 0:
            producer.poll(0)
            if rate:
                stop.wait(100 / rate)
    producer.flush(60)
    if errors:
        fail(errors[0])
    if acked[0] != sent:
        fail(f"{sent - acked[0]} of {sent} records were never answered")
    print(json.dumps({"acked": acked[0]}))


def consume(bootstrap, topic, group):
    """A member of a group that commits as it goes; what retention took before it was read is passed over."""
    errors = []
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "check.crcs": True,
        "auto.commit.interval.ms": 500, "session.timeout.ms": 10000, "error_cb": errors.append, "log_level": 3})
    consumer.subscribe([topic])
    stop, read = ending(), 0
    while not stop.is_set() and not errors:
        for message in consumer.consume(1000, timeout=0.2):
            if message.error():
                errors.append(message.error())
            elif message.value() != VALUE:
                fail(f"offset {message.offset()} holds other bytes than were sent")
            else:
                read += 1
    if errors:
        fail(errors[0])
    consumer.close()
    print(json.dumps({"read": read}))


if __name__ == "__main__":
    verb, bootstrap, topic, third, *rest = sys.argv[1:]
    produce(bootstrap, topic, third, int(rest[0])) if verb == "produce" else consume(bootstrap, topic, third)
