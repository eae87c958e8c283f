"""The main job on real tables: in through three clients with five codecs, out through all, over a kill and a restart.

By default each producer sends every flight, a fifth of them with each codec. COMPAT_FULL=1 sends every
flight with every codec, and has every client read them.
"""

import os
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import tables
from harness.admin import new_topic
from harness.broker import start
from harness.clients import CODECS, COMMANDS, digest, dump, produce
from harness.tools import tool

PRODUCERS = ["librdkafka", "java", "kafkajs"]
READERS = list(COMMANDS) if os.environ.get("COMPAT_FULL") else ["java", "librdkafka", "kafka-python", "kafkajs", "franz-go", "kcat"]
PARTITIONS = 4


def by_key(records):
    """Values in order per key; rows without a key have no order among partitions."""
    order = defaultdict(list)
    for key, value in records:
        order[key].append(value)
    order[None].sort()
    return order


def share(number):
    if os.environ.get("COMPAT_FULL"):
        return tables.flights()
    return tables.flights()[number :: len(CODECS)]


def check_files(broker):
    """kafka-dump-log reads every segment and index."""
    logs = sorted(broker.data.glob("*/*.log"))
    user = [p for p in logs if not p.parent.name.startswith("__cluster_metadata")]
    names = lambda paths: ",".join(map(str, paths))
    text = tool("dump-log", "--files", names(user), timeout=600)
    assert "isvalid: false" not in text and "Found invalid" not in text, text[-2000:]
    for suffix in (".index", ".timeindex"):
        files = [p.with_suffix(suffix) for p in user if p.with_suffix(suffix).exists()]
        assert files
        text = tool("dump-log", "--index-sanity-check", "--files", names(files), timeout=600)
        assert "Mismatches" not in text and "Exception" not in text, text[-2000:]
        text = tool("dump-log", "--verify-index-only", "--files", names(files), timeout=600)
        assert "Mismatches" not in text and "Exception" not in text and "Found timestamp mismatch" not in text, text[-2000:]


def test_the_flights_survive_clients_codecs_kill_and_restart(folder):
    broker = start(folder, log_segment_bytes=16777216)
    try:
        assert len(tables.flights()) == 336776
        topics = {}
        for producer in PRODUCERS:
            for number, codec in enumerate(CODECS):
                topic = new_topic(broker, f"flights-{producer}-{codec}", partitions=PARTITIONS)
                topics[topic] = number
                produce(producer, broker, topic, codec, tables.lines(share(number)), timeout=600)
        for name, rows in tables.others().items():
            topics[new_topic(broker, name, partitions=PARTITIONS)] = rows
            produce(PRODUCERS[len(topics) % 3], broker, list(topics)[-1], CODECS[len(topics) % 5], tables.lines(rows))
        digests = {}
        for topic, source in topics.items():
            rows = share(source) if isinstance(source, int) else source
            seen = by_key((r[3], r[4]) for r in dump("librdkafka", broker, topic))
            assert seen == by_key(rows), f"{topic}: order or content differs from the table"
            clients = READERS if isinstance(source, int) else ["librdkafka", "franz-go"]
            with ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(lambda client: digest(client, broker, topic, 600), clients))
            digests[topic] = answers[0]
            for client, answer in zip(clients, answers):
                assert answer == answers[0], f"{topic}: {client} reads something else than {clients[0]}"
        broker.kill()
        broker.start()
        for topic, before in digests.items():
            assert digest("franz-go", broker, topic) == before, f"{topic} changed over kill -9"
        assert broker.stop() == 0
        check_files(broker)
        broker.start()
        for topic, before in digests.items():
            assert digest("librdkafka", broker, topic) == before, f"{topic} changed over a restart"
    finally:
        broker.kill()
