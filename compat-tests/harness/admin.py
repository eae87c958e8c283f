"""Topics for tests, made through librdkafka's admin client."""

import itertools
import os

from confluent_kafka.admin import AdminClient, NewTopic

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
    return name
