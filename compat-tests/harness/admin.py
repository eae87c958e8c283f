"""Topics for tests, made through librdkafka's admin client."""

import itertools
import os

from confluent_kafka.admin import AdminClient, NewTopic

from harness import raw
from harness.wait import until

_numbers = itertools.count()


def admin(broker):
    return AdminClient({"bootstrap.servers": broker.bootstrap})


def new_topic(broker, name, partitions=1, **configs):
    """Creates a topic whose name is made unique; settings take `_` for `.`."""
    name = f"{name}-{os.getpid()}-{next(_numbers)}"
    configs = {k.replace("_", "."): str(v) for k, v in configs.items()}
    topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=configs)
    client = admin(broker)
    client.create_topics([topic])[name].result(30)
    if os.environ.get("COMPAT_BROKER") == "kafka":
        _settle(broker, name, partitions)
    return name


def _settle(broker, name, partitions):
    """Apache Kafka says that a topic is made before its partitions can be used."""
    with raw.Connection(broker) as c:
        for partition in range(partitions):
            until(lambda: raw.list_offset(c, name, partition, -1)[0] == 0, f"{name}-{partition} can be used")
