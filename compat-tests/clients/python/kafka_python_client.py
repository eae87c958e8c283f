"""kafka-python behind the verbs that every client of the compatibility tests offers."""

import json
import sys
import threading

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, RebalanceInProgressError
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.consumer.subscription_state import ConsumerRebalanceListener

from kafka.admin import ConfigResource, KafkaAdminClient
from kafka.structs import OffsetAndMetadata

from wire import Digest, encode, session, text


def produce(bootstrap, topic, codec, extra=""):
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, acks="all", linger_ms=5,
        enable_idempotence=extra == "idempotent")
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
    session = 45000 if instance else 10000  # long enough for a restart on a busy machine
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False, auto_offset_reset="earliest",
        session_timeout_ms=session, heartbeat_interval_ms=500, partition_assignment_strategy=[RangePartitionAssignor], **extra)
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


def admin(bootstrap):
    client = KafkaAdminClient(bootstrap_servers=bootstrap)

    def describe(topic):
        (found,) = client.describe_topics([topic])
        if found["error_code"]:
            raise RuntimeError(found)
        return found["partitions"]

    def configs(topic):
        found = client.describe_configs([ConfigResource("topic", topic)], config_filter="all")
        return {name: entry["value"] for name, entry in found["topic"][topic].items()}

    def alter(topic, settings):
        (result,) = client.alter_configs([ConfigResource("topic", topic, settings)])["topic"].values()
        if "error" in str(result).lower() and "noerror" not in str(result).lower():
            raise RuntimeError(result)

    def times(topic, at):
        found = client.list_partition_offsets({TopicPartition(topic, p["partition_index"]): at for p in describe(topic)})
        return {tp.partition: entry.offset for tp, entry in found.items()}

    def group(name):
        found = client.describe_groups([name])[name]
        if found["error"]:
            raise RuntimeError(found["error"])
        return [found["group_state"], len(found["members"])]

    def commit(name, topic, offsets):
        wanted = {TopicPartition(topic, int(p)): OffsetAndMetadata(at, "", -1) for p, at in offsets.items()}
        for error in client.alter_group_offsets(name, wanted).values():
            if getattr(error, "errno", 0):
                raise error

    session({
        "create": lambda topic, count, settings: client.create_topics(
            {topic: {"num_partitions": count, "replication_factor": 1, "configs": settings}}) and None,
        "topics": client.list_topics,
        "describe": lambda topic: len(describe(topic)),
        "delete": lambda topic: client.delete_topics([topic]) and None,
        "configs": configs,
        "alter": alter,
        "grow": lambda topic, count: client.create_partitions({topic: count}) and None,
        "truncate": lambda topic, partition, at: client.delete_records({TopicPartition(topic, partition): at}) and None,
        "times": times,
        "groups": lambda: [g["group_id"] for g in client.list_groups()],
        "group": group,
        "committed": lambda name, topic: {
            tp.partition: entry.offset for tp, entry in client.list_group_offsets({name: None})[name].items() if tp.topic == topic},
        "commit": commit,
        "forget": lambda name: client.delete_groups([name]) and None,
    })


def transactions(bootstrap, name, timeout_ms):
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name, transaction_timeout_ms=int(timeout_ms))
    producer.init_transactions()
    sent = []

    def flush():
        producer.flush(60)
        for future in sent:
            future.get(60)
        sent.clear()

    def commit():
        sent.clear()
        producer.commit_transaction()

    def abort():
        sent.clear()
        producer.abort_transaction()

    def offsets(group, topic, at):
        wanted = {TopicPartition(topic, int(p)): OffsetAndMetadata(offset, "", -1) for p, offset in at.items()}
        producer.send_offsets_to_transaction(wanted, group)

    session({
        "begin": producer.begin_transaction, "flush": flush, "offsets": offsets, "commit": commit, "abort": abort,
        "send": lambda topic, partition, value: sent.append(producer.send(topic, encode(value), partition=partition)),
    })


def committed_values(bootstrap, topic, _last):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest")
    partitions = [TopicPartition(topic, p) for p in sorted(consumer.partitions_for_topic(topic))]
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    values = {tp.partition: [] for tp in partitions}
    while any(consumer.position(tp) < ends[tp] for tp in partitions):
        for tp, records in consumer.poll(timeout_ms=500).items():
            values[tp.partition] += [text(r.value) for r in records]
    consumer.close()
    print(json.dumps(values))


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "digest" or verb == "dump":
        read(*args, verb == "dump")
    else:
        {"produce": produce, "group": group, "admin": admin, "transactions": transactions, "committed": committed_values}[verb](*args)
