"""Placement, znode bodies and name encoding against the classes of Apache Kafka 3.9."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from oracles import java_command, require_oracle, running

from barnabas.server.registry.bodies import TopicAssignment, encode_config, encode_topic
from barnabas.server.registry.configs import desanitize, sanitize
from barnabas.server.registry.placement import ImpossiblePlacement, Racks, assign_replicas
from barnabas.wire.uuids import Uuid

TOPIC_ID = "eT2hBKwtSvWy6LjS36LLOw"
CONFIG_NAMES = [
    f"{a}.{b}.{c}" for a in ("segment", "min", "x") for b in "abcdef" for c in ("ms", "bytes")
]


class Oracle:
    """A running RegistryOracle: one line asked, one line answered."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def ask(self, *fields: object) -> str:
        """Return the answer to a line of tab-separated fields."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(("\t".join(map(str, fields)) + "\n").encode())
        self._process.stdin.flush()
        return self._process.stdout.readline().decode().rstrip("\n")


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    source = Path(__file__).parent / "RegistryOracle.java"
    with running(java_command(require_oracle("jars-3.9.1"), str(source))) as process:
        yield Oracle(process)


def test_replicas_are_placed_as_kafka_places_them(oracle: Oracle) -> None:
    dice = random.Random(9)
    refused = 0
    for _ in range(1500):
        racks = _some_brokers(dice)
        partitions, factor = dice.randint(0, 30), dice.randint(0, 6)
        start, first = dice.randrange(len(racks)), dice.choice((0, 0, 1, 7, 12))
        brokers = [f"{broker}={rack or ''}" for broker, rack in sorted(racks.items())]
        answer = oracle.ask("assign", partitions, factor, start, first, *brokers)
        try:
            ours = assign_replicas(
                racks, partitions, factor, start=start, shift=start, first_partition=first
            )
        except ImpossiblePlacement:
            refused += 1
            assert answer == "error"
            continue
        assert answer == str(ours).replace(": ", "=")
    assert 0 < refused < 1000


def _some_brokers(dice: random.Random) -> Racks:
    brokers = dice.sample(range(100), dice.randint(1, 9))
    names: list[str | None] = [f"rack{n}" for n in range(dice.randint(1, 4))]
    kind = dice.randrange(10)
    choices = names if kind < 6 else [None] if kind < 9 else [None, *names]
    return {broker: dice.choice(choices) for broker in brokers}


def test_topic_bodies_say_what_kafkas_say(oracle: Oracle) -> None:
    """Ten partitions stand in the same order, more in that of Kafka's hash map, which we leave."""
    for count in [*range(1, 60), 100, 500, 1000, 5000]:
        body = topic_body(range(count))
        theirs = oracle.ask("topic", TOPIC_ID, *range(count))
        assert len(theirs) == len(body) and json.loads(theirs) == json.loads(body)
        if count <= 10:
            assert theirs == body
    assert json.loads(oracle.ask("topic", TOPIC_ID, 4, 300, 17)) == json.loads(
        topic_body((4, 300, 17))
    )


def topic_body(partitions: Iterable[int]) -> str:
    assignment = TopicAssignment({n: [1] for n in partitions}, Uuid.from_text(TOPIC_ID))
    return encode_topic(assignment).decode()


def test_config_bodies_say_what_kafkas_say(oracle: Oracle) -> None:
    dice = random.Random(7)
    for _ in range(300):
        names = dice.sample(CONFIG_NAMES, dice.randint(1, len(CONFIG_NAMES)))
        config = {name: dice.choice(["1", "a b", 'q"uote\\', "é\u2028/", "lz4"]) for name in names}
        fields = [field for item in config.items() for field in item]
        body = encode_config(config).decode()
        assert json.loads(body)["config"] == config
        theirs = oracle.ask("config", *fields)
        assert sorted(theirs) == sorted(body) and json.loads(theirs) == json.loads(body)
        if len(config) == 1:
            assert theirs == body


@pytest.mark.parametrize(
    "name", ["alice", "a b", "*", "a*b+c~d", "é@x", "CN=a,O=b/c", "<x>", "100%"]
)
def test_names_are_encoded_as_kafka_encodes_them(oracle: Oracle, name: str) -> None:
    assert sanitize(name) == oracle.ask("sanitize", name)
    assert desanitize(sanitize(name)) == name
