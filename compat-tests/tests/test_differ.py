"""R12: what Apache Kafka 4.4 answered to generated requests is what the broker answers.

The answers were kept by `differ/run --record`; a Kafka runs only where `differ/run` is started by hand.
"""

import json
from pathlib import Path

import pytest

from differ import batches, known, pair, schemas, tape
from differ.compare import Comparison
from differ.mapping import Mapping

TAPE = Path(__file__).parents[1] / "differ" / "kafka-4.4.tape.gz"


def test_every_answer_is_kafkas(folder):
    told = []
    score = pair.replay(folder, TAPE, known.Known(), told.append)
    assert score.requests >= 500
    kinds = {(entry["api"], entry["version"]) for entry in tape.Tape(TAPE).entries if "api" in entry}
    offered = {(name, version) for name, (low, high) in score.offers.items() for version in range(low, high + 1)}
    assert not offered - kinds, f"not asked: {offered - kinds}"
    first = told[0] if told else None
    assert not told, f"{len(told)} answers differ, the first to {first.api.name} v{first.version} {tape.short(first.request)}: {'; '.join(map(str, first.found))}"


def answer(**changes):
    partition = {"Index": 0, "ErrorCode": 0, "BaseOffset": 3, "LogAppendTimeMs": -1, "LogStartOffset": 0, "RecordErrors": [], "ErrorMessage": None}
    topic = {"TopicId": {"hex": "11" * 16}, "PartitionResponses": [{**partition, **changes}]}
    return {"outcome": "answer", "body": {"Responses": [topic], "ThrottleTimeMs": 0, "NodeEndpoints": []}}


def differences(kafka, ours, mapping=None):
    comparison = Comparison(mapping or Mapping(), schemas.load()["Produce"].answers(13))
    return [str(difference) for difference in comparison.outcomes(kafka, ours)]


@pytest.mark.parametrize("changes, said", [
    ({"ErrorCode": 3}, "ErrorCode: Kafka 0, Dohle 3"),
    ({"BaseOffset": 4}, "BaseOffset: Kafka 3, Dohle 4"),
    ({"ErrorMessage": ""}, 'ErrorMessage: Kafka null, Dohle ""'),
    ({"LogAppendTimeMs": 5}, "LogAppendTimeMs: Kafka -1, Dohle 5"),
    ({"Index": 1}, 'Dohle "nothing"'),
])
def test_a_planted_difference_is_told(changes, said):
    assert differences(answer(), answer()) == []
    assert any(said in difference for difference in differences(answer(), answer(**changes)))


def test_a_closed_connection_is_no_answer():
    assert differences({"outcome": "closed"}, answer())
    assert differences({"outcome": "closed"}, {"outcome": "closed"}) == []


def test_a_name_that_changes_is_told():
    other = json.loads(json.dumps(answer()).replace("11" * 16, "22" * 16))
    mapping = Mapping()
    assert differences(answer(), other, mapping) == [], "each broker makes its own ids"
    assert differences(answer(), answer(), mapping), "and keeps them"


def test_batches_are_taken_apart_as_they_were_built():
    made = {"records": [("k", "v"), (None, "w")], "ProducerId": 7, "ProducerEpoch": 1, "sequence": 4}
    (batch,) = batches.take_apart(batches.build(made))
    assert batch["whole"] and (batch["count"], batch["ProducerId"], batch["sequence"]) == (2, 7, 4)
    (batch,) = batches.take_apart(batches.build({**made, "spoil": "crc"}))
    assert not batch["whole"]


def test_the_known_differences_are_in_the_docs():
    assert known.Known().page(write=False), "differ/run --page writes them"


def test_every_known_difference_has_a_reason():
    for row in known.Known().rows:
        assert len(row.reason) > 10, row.path
