"""Copies a topic into another exactly once: what is read, and how far, is one transaction with what is written."""

import sys

from confluent_kafka import Consumer, KafkaException, Producer


def main(bootstrap, source, target, group, name):
    while True:
        try:
            copy(bootstrap, source, target, group, name)
        except KafkaException as failed:
            # A broker that dies may leave nothing but a new producer to go on with.
            print("once more:", failed, flush=True)


def copy(bootstrap, source, target, group, name):
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "reconnect.backoff.max.ms": 200, "log_level": 2})
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": group, "isolation.level": "read_committed", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "session.timeout.ms": 6000, "reconnect.backoff.max.ms": 200, "log_level": 2})
    try:
        producer.init_transactions(60)
        consumer.subscribe([source])
        while True:
            messages = [message for message in consumer.consume(50, 0.2) if not message.error()]
            if not messages:
                continue
            producer.begin_transaction()
            for message in messages:
                producer.produce(target, message.value(), partition=message.partition())
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30)
            producer.commit_transaction(30)
    finally:
        consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
