"""librdkafka (confluent-kafka) behind the verbs that every client of the compatibility tests offers."""

import json
import random
import sys
import threading

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition, OFFSET_BEGINNING
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, OffsetSpec

from wire import Digest, encode, session, text


def produce(bootstrap, topic, codec, extra=""):
    config = {
        "bootstrap.servers": bootstrap,
        "compression.codec": codec,
        "acks": "all",
        "linger.ms": 5,
        "partitioner": "murmur2_random",
        "queue.buffering.max.messages": 200000,
        "queue.buffering.max.kbytes": 262144,
    }
    config.update(pair.split("=", 1) for pair in extra.split(",") if pair)
    producer = Producer(config)
    done = {"acked": 0, "failed": 0}

    def report(error, _message):
        if error is None:
            done["acked"] += 1
        else:
            done["failed"] += 1
            if done["failed"] == 1:
                print(error, file=sys.stderr)

    for line in sys.stdin:
        row = json.loads(line)
        headers = [(name, encode(value)) for name, value in row[2]] if len(row) > 2 else None
        while True:
            try:
                producer.produce(topic, key=encode(row[0]), value=encode(row[1]), headers=headers, on_delivery=report)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(120)
    done["failed"] += left
    print(json.dumps(done))


def committed_values(bootstrap, topic, _last):
    """The values of committed records by partition, in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
                         "isolation.level": "read_committed", "enable.partition.eof": True})
    partitions = sorted(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    values = {p: [] for p in partitions}
    ended = set()
    while len(ended) < len(partitions):
        message = consumer.poll(30)
        assert message is not None, f"nothing more, and no end of {set(partitions) - ended}"
        if message.error():
            ended.add(message.partition())
        else:
            values[message.partition()].append(text(message.value()))
    consumer.close()
    print(json.dumps(values))


def read(bootstrap, topic, isolation="read_uncommitted", *, dump):
    """Every partition to its end: the last stable offset where only committed records are asked for."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "isolation.level": isolation, "enable.partition.eof": True})
    partitions = sorted(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    digests = {p: Digest() for p in partitions}
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
    reading = set(partitions)
    quiet = 0
    while reading and quiet < 60:
        messages = consumer.consume(5000, timeout=0.2)
        quiet = 0 if messages else quiet + 0.2
        for m in messages:
            p = m.partition()
            if m.error() and m.error().code() == KafkaError._PARTITION_EOF:
                reading.discard(p)
            elif m.error():
                raise RuntimeError(m.error())
            elif dump:
                headers = [[name, text(value)] for name, value in m.headers() or []]
                print(json.dumps([p, m.offset(), m.timestamp()[1], text(m.key()), text(m.value()), headers]))
            else:
                digests[p].add(m.offset(), m.key(), m.value())
    consumer.close()
    if not dump:
        print(json.dumps({str(p): d.result() for p, d in digests.items()}))


def group(bootstrap, topic, name, mode, instance=""):
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    if instance:
        config["group.instance.id"] = instance
    if mode == "consumer":
        config["group.protocol"] = "consumer"  # the broker says when and how (KIP-848)
    else:
        config["session.timeout.ms"] = 45000 if instance else 10000  # long enough for a restart on a busy machine
        config["heartbeat.interval.ms"] = 500
        config["partition.assignment.strategy"] = "cooperative-sticky" if mode == "cooperative" else "range"
    consumer = Consumer(config)
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    own = set()

    def show():
        print("assigned", sorted(own), flush=True)

    def assigned(_consumer, partitions):
        own.update(p.partition for p in partitions)
        show()

    def commit():
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as refused:  # nothing to commit, or a rebalance came first: the next owner reads again
            print("commit:", refused, file=sys.stderr)

    def revoked(_consumer, partitions):
        commit()
        own.difference_update(p.partition for p in partitions)
        show()

    consumer.subscribe([topic], on_assign=assigned, on_revoke=revoked)
    since = 0
    while not stop.is_set():
        m = consumer.poll(0.2)
        if m is not None and m.error() is None:
            print("record", m.partition(), m.offset(), flush=True)
            since += 1
        if since and (m is None or since >= 100):
            commit()
            since = 0
    if since:
        commit()
    consumer.close()
    print("closed")


def admin(bootstrap):
    client = AdminClient({"bootstrap.servers": bootstrap})

    def one(futures):
        (future,) = futures.values()
        return future.result(60)

    def partitions(topic):
        found = client.list_topics(topic, timeout=30).topics[topic]
        if found.error:
            raise KafkaException(found.error)
        return [TopicPartition(topic, p) for p in found.partitions]

    def alter(topic, settings):
        changes = [ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in settings.items()]
        return one(client.incremental_alter_configs([ConfigResource("topic", topic, incremental_configs=changes)]))

    def times(topic, at):
        spec = {-1: OffsetSpec.latest(), -2: OffsetSpec.earliest()}.get(at) or OffsetSpec.for_timestamp(at)
        futures = client.list_offsets({tp: spec for tp in partitions(topic)})
        return {tp.partition: future.result(60).offset for tp, future in futures.items()}

    def group(name):
        found = one(client.describe_consumer_groups([name]))
        return [found.state.name, len(found.members)]

    def committed(name, topic):
        found = one(client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)]))
        return {tp.partition: tp.offset for tp in found.topic_partitions if tp.topic == topic}

    def commit(name, topic, offsets):
        wanted = [TopicPartition(topic, int(p), at) for p, at in offsets.items()]
        found = one(client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(name, wanted)]))
        for tp in found.topic_partitions:
            if tp.error:
                raise KafkaException(tp.error)

    session({
        "create": lambda topic, count, settings: one(client.create_topics([NewTopic(topic, count, 1, config=settings)])),
        "topics": lambda: list(client.list_topics(timeout=30).topics),
        "describe": lambda topic: len(partitions(topic)),
        "delete": lambda topic: one(client.delete_topics([topic])),
        "configs": lambda topic: {k: v.value for k, v in one(client.describe_configs([ConfigResource("topic", topic)])).items()},
        "alter": alter,
        "grow": lambda topic, count: one(client.create_partitions([NewPartitions(topic, count)])),
        "truncate": lambda topic, partition, at: one(client.delete_records([TopicPartition(topic, partition, at)])) and None,
        "times": times,
        "groups": lambda: [g.group_id for g in client.list_consumer_groups().result(60).valid],
        "group": group,
        "committed": committed,
        "commit": commit,
        "forget": lambda name: one(client.delete_consumer_groups([name])),
    })


# When its only broker is away, librdkafka 2.16 begins anew from the bootstrap address and drops the broker that was its
# transaction coordinator; the next request of a transaction then waits for one until the transaction's time is up.
KEEPS_BROKERS = {"metadata.recovery.strategy": "none"}


def transactions(bootstrap, name, timeout_ms):
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "transaction.timeout.ms": int(timeout_ms),
                         "linger.ms": 0, "log_level": 2, **KEEPS_BROKERS})
    producer.init_transactions(60)
    failed = []

    def send(topic, partition, value):
        producer.produce(topic, partition=partition, value=value, on_delivery=lambda error, _: error and failed.append(error))

    def flush():
        producer.flush(60)
        if failed:
            raise KafkaException(failed.pop())

    def offsets(group, topic, at):
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
        wanted = [TopicPartition(topic, int(p), offset) for p, offset in at.items()]
        producer.send_offsets_to_transaction(wanted, consumer.consumer_group_metadata(), 60)
        consumer.close()

    session({
        "begin": producer.begin_transaction, "send": send, "flush": flush, "offsets": offsets,
        "commit": lambda: producer.commit_transaction(60), "abort": lambda: producer.abort_transaction(60),
    })


def copy(bootstrap, source, target, name, transactional_id, _partition, size):
    """Copies a topic into another exactly once: what is read, and how far, is one transaction with what is written."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "reconnect.backoff.max.ms": 200, "log_level": 2, **KEEPS_BROKERS})
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": name, "isolation.level": "read_committed", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "session.timeout.ms": 3000, "heartbeat.interval.ms": 300, "reconnect.backoff.max.ms": 200, "log_level": 2,
        "fetch.wait.max.ms": 20,  # a fetch that waits for more at the end is in the way of going back
        **KEEPS_BROKERS})
    producer.init_transactions(60)
    consumer.subscribe([source])

    def back_to_committed():
        producer.abort_transaction(60)
        for at in consumer.committed(consumer.assignment(), 60):
            consumer.seek(TopicPartition(at.topic, at.partition, at.offset if at.offset >= 0 else OFFSET_BEGINNING))

    while True:
        messages = [message for message in consumer.consume(int(size), 0.2) if not message.error()]
        if not messages:
            continue
        producer.begin_transaction()
        try:
            for message in messages:
                producer.produce(target, message.value(), partition=message.partition())
            producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 60)
            if random.random() < 1 / 3:
                back_to_committed()
            else:
                producer.commit_transaction(60)
        except KafkaException as failed:
            if not failed.args[0].txn_requires_abort():
                raise
            back_to_committed()


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "digest" or verb == "dump":
        read(*args, dump=verb == "dump")
    else:
        {"produce": produce, "group": group, "admin": admin, "transactions": transactions, "committed": committed_values, "copy": copy}[verb](*args)
