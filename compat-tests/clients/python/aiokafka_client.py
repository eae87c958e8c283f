"""aiokafka behind the verbs that every client of the compatibility tests offers."""

import asyncio
import json
import random
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import CommitFailedError, IllegalStateError, RebalanceInProgressError, for_code

from wire import Digest, encode, text


async def produce(bootstrap, topic, codec, extra=""):
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, acks="all", linger_ms=5,
        enable_idempotence=extra == "idempotent")
    await producer.start()
    futures = []
    for line in sys.stdin:
        row = json.loads(line)
        headers = [(name, encode(value)) for name, value in row[2]] if len(row) > 2 else []
        futures.append(await producer.send(topic, key=encode(row[0]), value=encode(row[1]), headers=headers))
    answers = await asyncio.gather(*futures, return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, Exception)]
    await producer.stop()
    for error in failed[:1]:
        print(repr(error), file=sys.stderr)
    print(json.dumps({"acked": len(answers) - len(failed), "failed": len(failed)}))


async def read(bootstrap, topic, dump):
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest", max_partition_fetch_bytes=4 << 20)
    await consumer.start()
    partitions = sorted(consumer.assignment())
    digests = {tp.partition: Digest() for tp in partitions}
    starts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
    left = {tp.partition: ends[tp] for tp in partitions if starts[tp] < ends[tp]}
    quiet = 0
    while left and quiet < 60:
        polled = await consumer.getmany(timeout_ms=1000, max_records=5000)
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
    await consumer.stop()
    if not dump:
        print(json.dumps({str(p): d.result() for p, d in digests.items()}))


class Show(ConsumerRebalanceListener):
    def __init__(self, consumer):
        self.consumer = consumer

    async def on_partitions_revoked(self, revoked):
        await commit(self.consumer)

    async def on_partitions_assigned(self, assigned):
        print("assigned", sorted(tp.partition for tp in assigned), flush=True)


async def commit(consumer):
    try:
        if consumer.assignment():
            await consumer.commit()
    except (CommitFailedError, IllegalStateError, RebalanceInProgressError) as refused:  # the next owner reads these records again
        print(repr(refused), file=sys.stderr)


async def group(bootstrap, topic, name, mode, instance=""):
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, group_id=name, enable_auto_commit=False, auto_offset_reset="earliest",
        session_timeout_ms=45000 if instance else 10000,  # long enough for a restart on a busy machine
        heartbeat_interval_ms=500, rebalance_timeout_ms=10000, group_instance_id=instance or None,
        partition_assignment_strategy=(RangePartitionAssignor,))
    consumer.subscribe([topic], listener=Show(consumer))
    asked = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await consumer.start()
    while not asked.done():
        polled = await consumer.getmany(timeout_ms=200)
        for tp, records in polled.items():
            for r in records:
                print("record", tp.partition, r.offset, flush=True)
        if polled:
            await commit(consumer)
    await consumer.stop()
    print("closed")


def refuse(code, what):
    if code:
        raise for_code(code)(what)


async def answer(commands):
    """Answers the commands of a session, one line each, until the input ends."""
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        name, *args = json.loads(line)
        try:
            result = {"ok": await commands[name](*args)}
        except Exception as error:
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


async def admin(bootstrap):
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()

    async def create(topic, count, settings):
        answer = await client.create_topics([NewTopic(topic, count, 1, topic_configs=settings)])
        for name, code, *_ in answer.topic_errors:
            refuse(code, name)

    async def describe(topic):
        (found,) = await client.describe_topics([topic])
        refuse(found["error_code"], topic)
        return found["partitions"]

    async def delete(topic):
        for name, code in (await client.delete_topics([topic])).topic_error_codes:
            refuse(code, name)

    async def configs(topic):
        (answer,) = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        ((code, message, _, _, entries),) = answer.resources
        refuse(code, message)
        return {entry[0]: entry[1] for entry in entries}

    async def alter(topic, settings):
        (answer, *_) = await client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, settings)])
        for code, message, *_ in answer.resources:
            refuse(code, message)

    async def times(topic, at):
        partitions = [TopicPartition(topic, p["partition"]) for p in await describe(topic)]
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
        await consumer.start()
        try:
            if at == -1:
                return {tp.partition: offset for tp, offset in (await consumer.end_offsets(partitions)).items()}
            if at == -2:
                return {tp.partition: offset for tp, offset in (await consumer.beginning_offsets(partitions)).items()}
            found = await consumer.offsets_for_times({tp: at for tp in partitions})
            return {tp.partition: -1 if entry is None else entry.offset for tp, entry in found.items()}
        finally:
            await consumer.stop()

    async def group(name):
        (answer,) = await client.describe_consumer_groups([name])
        (found,) = answer.to_object()["groups"]
        refuse(found["error_code"], name)
        return [found["state"], len(found["members"])]

    async def committed(name, topic):
        found = await client.list_consumer_group_offsets(name)
        return {tp.partition: entry.offset for tp, entry in found.items() if tp.topic == topic}

    async def truncate(topic, partition, at):
        await client.delete_records({TopicPartition(topic, partition): RecordsToDelete(at)})

    async def grow(topic, count):
        await client.create_partitions({topic: NewPartitions(count)})

    async def groups():
        return [found[0] for found in await client.list_consumer_groups()]

    async def count(topic):
        return len(await describe(topic))

    commands = {
        "create": create, "topics": client.list_topics, "describe": count, "delete": delete, "configs": configs, "alter": alter,
        "grow": grow, "truncate": truncate, "times": times, "groups": groups, "group": group, "committed": committed}
    await answer(commands)
    await client.close()


async def transactions(bootstrap, name, timeout_ms):
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name, transaction_timeout_ms=int(timeout_ms))
    await producer.start()

    async def send(topic, partition, value):
        await producer.send(topic, encode(value), partition=partition)

    async def offsets(group, topic, at):
        await producer.send_offsets_to_transaction({TopicPartition(topic, int(p)): offset for p, offset in at.items()}, group)

    await answer({
        "begin": producer.begin_transaction, "send": send, "flush": producer.flush, "offsets": offsets,
        "commit": producer.commit_transaction, "abort": producer.abort_transaction})


async def committed_values(bootstrap, topic, _last):
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, isolation_level="read_committed", auto_offset_reset="earliest")
    await consumer.start()
    partitions = sorted(consumer.assignment())
    ends = await consumer.end_offsets(partitions)
    values = {tp.partition: [] for tp in partitions}
    while [tp for tp in partitions if await consumer.position(tp) < ends[tp]]:
        for tp, records in (await consumer.getmany(timeout_ms=500)).items():
            values[tp.partition] += [text(r.value) for r in records]
    await consumer.stop()
    print(json.dumps(values))


async def copy(bootstrap, source, target, name, transactional_id, partition, size):
    """Copies a partition exactly once: what is read, and how far, is one transaction with what is written."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id)
    await producer.start()
    # What another copier of this id left open is over when this producer has its epoch; only then are offsets asked for.
    await producer.begin_transaction()
    await producer.abort_transaction()
    tp = TopicPartition(source, int(partition))
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, group_id=name, isolation_level="read_committed", enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    consumer.assign([tp])

    async def back_to_committed():
        await producer.abort_transaction()
        consumer.seek(tp, await consumer.committed(tp) or 0)

    while True:
        records = (await consumer.getmany(tp, timeout_ms=200, max_records=int(size))).get(tp, [])
        if not records:
            continue
        await producer.begin_transaction()
        for record in records:
            await producer.send(target, record.value, partition=record.partition)
        await producer.send_offsets_to_transaction({tp: records[-1].offset + 1}, name)
        if random.random() < 1 / 3:
            await back_to_committed()
        else:
            await producer.commit_transaction()


if __name__ == "__main__":
    verb, args = sys.argv[1], sys.argv[2:]
    if verb == "digest" or verb == "dump":
        asyncio.run(read(*args, verb == "dump"))
    else:
        asyncio.run({"produce": produce, "group": group, "admin": admin, "transactions": transactions, "committed": committed_values, "copy": copy}[verb](*args))
