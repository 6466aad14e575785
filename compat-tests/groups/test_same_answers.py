"""The same questions to Apache Kafka and to Barnabas, and the same answers.

Kafka 3.9.1 is held against Barnabas as it is, 4.4.0 against one that poses as 4.4. The questions
are in `group_probes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from broker_fixture import running_barnabas
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from group_asker import PATIENCE_SECONDS, Asker, Seen, commit
from group_probes import PROBES
from kafka_server import running_kafka

from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until

SETTINGS = {"group.max.size": "2", "group.min.session.timeout.ms": "6000"}


@dataclass
class Pair:
    """What both said, by probe."""

    kafka: Seen
    ours: Seen


@pytest.fixture(scope="module", params=["3.9.1", "4.4.0"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Every probe's answers, first of Kafka, then of Barnabas."""
    version: str = request.param
    folder = tmp_path_factory.mktemp(f"same-{version}")
    with running_kafka(version, folder / "kafka", SETTINGS) as kafka:
        theirs = _ask_everything(kafka.address, int(version[0]))
    with _barnabas(folder, version) as address:
        yield Pair(theirs, _ask_everything(address, int(version[0])))


@contextmanager
def _barnabas(folder: Path, version: str) -> Iterator[str]:
    data = folder / "barnabas"
    data.mkdir()
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    settings += ["auto.create.topics.enable=false", "offsets.topic.num.partitions=1"]
    if version.startswith("4"):
        settings.append(f"barnabas.pose.as={version}")
    with running_barnabas(data, *settings) as address:
        yield address


def _ask_everything(address: str, release: int) -> Seen:
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    for made in admin.create_topics([NewTopic("orders", 2, 1), NewTopic("audit", 1, 1)]).values():
        made.result(PATIENCE_SECONDS)
    port = int(address.partition(":")[2])
    _wait_for_coordinator(port)
    seen: Seen = {}
    for name, ask in PROBES.items():
        asker = Asker(port, release, f"group-{name}")
        try:
            seen[name] = ask(asker)
        except ConnectionError:
            seen[name] = "closed"
        finally:
            asker.close()
    return seen


def _wait_for_coordinator(port: int) -> None:
    with RawClient(port, "probe", PATIENCE_SECONDS) as connection:

        def commits() -> bool:
            connection.call(FindCoordinatorRequest(key="first"), 2)
            return commit(connection, "first") == [0, 3]

        wait_until(commits, PATIENCE_SECONDS)


@pytest.mark.parametrize("name", PROBES)
def test_the_answers_are_the_same(name: str, pair: Pair) -> None:
    assert pair.ours[name] == pair.kafka[name]
