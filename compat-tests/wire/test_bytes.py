"""Our bytes are Kafka's bytes and our values are Kafka's values, at every message and version.

Kafka's own generated classes, behind a pipe (Bridge.java), turn random values into bytes and
bytes into values; 4.4.0's where it defines the version, else 3.9.1's. In CI the seeds are
fixed; elsewhere every run takes others and a failure names its seed.
"""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import apache
import pytest
from bridge import Bridge, Decode, Encode, Refused, bridge
from oracles import ORACLES, require_oracle
from seeds import FIRST_SEED

from tests.wire.kafka_json import to_json
from tests.wire.strategies import declared, value

VALUES = int(os.environ.get("BARNABAS_VALUES", "24"))  # per message and version
JUDGED = {"3.9.1": 133, "4.4.0": 701}  # message versions
BATCH = 2_000
SHOWN = 1_500  # characters of a difference


class Case(NamedTuple):
    """One value, its bytes by our hand and its JSON."""

    message: str
    version: int
    seed: int
    data: bytes
    json: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.message} version {self.version} seed {self.seed}"


@pytest.fixture(scope="module", params=apache.RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    for each in apache.RELEASES:
        require_oracle(f"jars-{each}")
    return str(request.param)


def cases(release: str) -> list[Case]:
    """Random values of every message and version that the release judges."""
    judged = apache.judged(ORACLES)
    return [
        case(name, version, FIRST_SEED + number)
        for (name, version), (judge, _) in judged.items()
        if judge == release
        for number in range(VALUES)
    ]


def case(name: str, version: int, seed: int) -> Case:
    bound = declared()[name].at(version)
    made = value(name, version, seed)
    return Case(name, version, seed, bound.build(made), to_json(bound.reference, made))


def ask_in_batches(kafka: Bridge, requests: list[Encode | Decode]) -> list[bytes | str | Refused]:
    return [
        answer
        for start in range(0, len(requests), BATCH)
        for answer in kafka.ask(requests[start : start + BATCH])
    ]


def test_bytes_and_values_are_kafkas(release: str) -> None:
    every = cases(release)
    with bridge(release) as kafka:
        written = ask_in_batches(
            kafka, [Encode(c.message, c.version, json.dumps(c.json)) for c in every]
        )
        read = ask_in_batches(kafka, [Decode(c.message, c.version, c.data) for c in every])
    wrong = [
        complaint
        for each, theirs, text in zip(every, written, read, strict=True)
        for complaint in compare(each, theirs, text)
    ]
    assert not wrong, f"{len(wrong)} differences, the first: " + "\n".join(
        each[:SHOWN] for each in wrong[:5]
    )
    assert len({(c.message, c.version) for c in every}) == JUDGED[release]


def compare(mine: Case, written: bytes | str | Refused, read: bytes | str | Refused) -> list[str]:
    """What is not alike, one sentence each."""
    found = []
    if written != mine.data:
        shown = written.hex() if isinstance(written, bytes) else written
        found.append(f"{mine}: Kafka writes {shown}\nwe write {mine.data.hex()}\n{mine.json}")
    if not isinstance(read, str):
        found.append(f"{mine}: Kafka refuses {mine.data.hex()}: {read!r}")
    elif json.loads(read) != mine.json:
        found.append(f"{mine}: Kafka reads {read}\nwe have {json.dumps(mine.json)}")
    bound = declared()[mine.message].at(mine.version)
    if isinstance(written, bytes):
        ours = to_json(bound.reference, bound.parse(written))
        if ours != mine.json:
            found.append(f"{mine}: we read {ours} from Kafka's bytes of {mine.json}")
    return found
