"""Keeps what Apache Kafka 4.4 says of every setting, for src/broker/tests/configs.rs, which asks the same of Dohle.

    cd compat-tests && PYTHONPATH=. .work/venv/bin/python -m differ.configs

starts a Kafka and writes `kafka-4.4-configs.tsv` (DescribeConfigs of every resource, with synonyms, types and whether there
is a text) and `kafka-4.4-refusals.tsv` (what IncrementalAlterConfigs says of values of every kind) beside that test.
"""

import tempfile
from pathlib import Path

from differ import schemas
from differ.lines import Live
from harness.broker import free_port
from harness.kafka import Kafka

HERE = Path(__file__).parents[2] / "src/broker/tests"
TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
RESOURCES = [(TOPIC, "t"), (BROKER, "1"), (BROKER, ""), (METRICS, "m"), (GROUP, "g")]
VALUES = ["", "x", "-2", "0", "1", "1.5", "3000000000", "9223372036854775808", "a,,b"]
# The same are set in the test. Values of these come from the file, so that each source is seen.
SETTINGS = {
    "offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "4", "group.initial.rebalance.delay.ms": "100",
    "log.retention.hours": "100", "message.max.bytes": "2000000", "log.roll.ms": "500000", "ssl.keystore.password": "secret",
}
SET = 0


def escaped(value):
    if value is None:
        return "\\N"
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def call(side, api, version, body):
    outcome = side.call("configs", side.apis[api], version, body)
    assert outcome["outcome"] == "answer", outcome
    return outcome["body"]


def describe(side, kind, name):
    resource = {"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": None}
    body = call(side, "DescribeConfigs", 4, {"Resources": [resource], "IncludeSynonyms": True, "IncludeDocumentation": True})
    (result,) = body["Results"]
    assert result["ErrorCode"] == 0, result
    return sorted(result["Configs"], key=lambda one: one["Name"])


def described(side):
    for kind, name in RESOURCES:
        for one in describe(side, kind, name):
            synonyms = [f"{synonym['Name']}={'' if synonym['Value'] is None else synonym['Value']}@{synonym['Source']}" for synonym in one["Synonyms"]]
            yield [str(kind), name, one["Name"], str(one["ConfigType"]), escaped(one["Value"]), str(one["ConfigSource"]),
                   "read-only" if one["ReadOnly"] else "dynamic", "sensitive" if one["IsSensitive"] else "plain",
                   "text" if one["Documentation"] else "no text", escaped(";".join(synonyms))]


def alter(side, kind, resource, name, value):
    change = {"Name": name, "ConfigOperation": SET, "Value": value}
    resources = [{"ResourceType": kind, "ResourceName": resource, "Configs": [change]}]
    (response,) = call(side, "IncrementalAlterConfigs", 1, {"Resources": resources, "ValidateOnly": True})["Responses"]
    return response["ErrorCode"], response["ErrorMessage"]


def refused(side):
    for kind, resource in RESOURCES:
        names = [(one["Name"], one["ReadOnly"]) for one in describe(side, kind, resource or "1")]
        for name, read_only in names:
            for value in VALUES[1:2] if read_only or not resource else VALUES:
                code, message = alter(side, kind, resource, name, value)
                yield [str(kind), resource, name, escaped(value), str(code), escaped(message)]


def save(file, head, rows, folder):
    lines = [f"# Apache Kafka 4.4, kept by compat-tests/differ/configs.py: {head}", *("\t".join(row) for row in rows)]
    (HERE / file).write_text("\n".join(lines).replace(folder, "FOLDER") + "\n")
    print(f"{file}: {len(lines) - 1} rows")


def main():
    with tempfile.TemporaryDirectory(prefix="dohle-configs-") as folder:
        kafka = Kafka(Path(folder), free_port(), SETTINGS)
        try:
            kafka.start()
            side = Live("Kafka", kafka)
            side.apis = schemas.load()
            topic = {"Name": "t", "NumPartitions": 1, "ReplicationFactor": 1}
            made = call(side, "CreateTopics", 7, {"Topics": [topic], "timeoutMs": 30000, "validateOnly": False})
            assert made["Topics"][0]["ErrorCode"] == 0, made
            save("kafka-4.4-configs.tsv", "resource, its name, setting, type, value, source, whether it can be changed, whether it is shown, documentation, synonyms", described(side), folder)
            save("kafka-4.4-refusals.tsv", "resource, its name, setting, value, code, message", refused(side), folder)
        finally:
            kafka.kill()


if __name__ == "__main__":
    main()
