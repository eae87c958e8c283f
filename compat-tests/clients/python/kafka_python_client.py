"""kafka-python behind the verbs that every client of the compatibility tests offers."""

import json
import sys
import threading

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, RebalanceInProgressError
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.consumer.subscription_state import ConsumerRebalanceListener

from wire import Digest, encode, text


def produce(bootstrap, topic, codec):
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, acks="all", linger_ms=5)
    futures = []
    for line in sys.stdin:
        row = json.loads(line)
        headers = [(name, encode(value)) for name, value in row[2]] if len(row) > 2 else []
        futures.append(producer.send(topic, key=encode(row[0]), value=encode(row[1]), headers=headers))
    producer.flush()
    failed = 0
    for future in futures:
        try:
            future.get(timeout=60)
        except Exception as error:
            failed += 1
            print(error, file=sys.stderr)
    producer.close()
    print(json.dumps({"acked": len(futures) - failed, "failed": failed}))


def read(bootstrap, topic, dump):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest", max_poll_records=5000)
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
    digests = {tp.partition: Digest() for tp in partitions}
    starts, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    left = {tp.partition: ends[tp] for tp in partitions if starts[tp] < ends[tp]}
    consumer.assign([tp for tp in partitions if tp.partition in left])
    consumer.seek_to_beginning()
    quiet = 0
    while left and quiet < 60:
        polled = consumer.poll(timeout_ms=1000)
        quiet = 0 if polled else quiet + 1
        for tp, records in polled.items():
            for r in records:
                if dump:
                    headers = [[name, text(value)] for name, value in r.headers]
                    print(json.dumps([tp.partition, r.offset, r.timestamp, text(r.key), text(r.value), headers]))
                else:
                    digests[tp.partition].add(r.offset, r.key, r.value)
                if r.offset + 1 >= left.get(tp.partition, 0):
                    left.pop(tp.partition, None)
    consumer.close()
    if not dump:
        print(json.dumps({str(p): d.result() for p, d in digests.items()}))


class Show(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass  # a commit in here fails: the callback runs inside the client's own loop

    def on_partitions_assigned(self, assigned):
        print("assigned", sorted(tp.partition for tp in assigned), flush=True)


def group(bootstrap, topic, name, mode, instance=""):
    extra = {"group_instance_id": instance} if instance else {}
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False, auto_offset_reset="earliest",
        session_timeout_ms=10000, heartbeat_interval_ms=1000, partition_assignment_strategy=[RangePartitionAssignor], **extra)
    consumer.subscribe([topic], listener=Show())
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    while not stop.is_set():
        for tp, records in consumer.poll(timeout_ms=200).items():
            for r in records:
                print("record", tp.partition, r.offset, flush=True)
        try:
            consumer.commit()
        except (CommitFailedError, RebalanceInProgressError) as refused:  # the next owner reads these records again
            print(refused, file=sys.stderr)
    consumer.close(autocommit=False)
    print("closed")


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "digest" or verb == "dump":
        read(*args, verb == "dump")
    else:
        {"produce": produce, "group": group}[verb](*args)
