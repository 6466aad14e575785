"""Consumers read from a replica near to them (KIP-392)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.broker import Broker as BareBroker
from barnabas.server.cluster.metadata import BrokerInfo
from barnabas.server.core.startup import StartFailed
from barnabas.server.replication.read_replica import NO_REPLICA, RACK_AWARE, Candidate, nearest
from barnabas.server.settings.config import load_config
from barnabas.server.testing.broker import Broker
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, fetched, make_batch, produce

NEAR, OTHER = 7, 8
FOLLOWERS = [
    Candidate(2, "a", 10, 5.0), Candidate(3, "b", 10, 5.0), Candidate(4, "b", 10, 6.0),
    Candidate(5, "b", 9, 9.0), Candidate(6, None, 11, 9.0),
]  # fmt: skip


def test_the_one_in_the_consumers_rack_that_has_come_farthest() -> None:
    assert nearest("a", "c", FOLLOWERS) == 2
    assert nearest("b", "c", FOLLOWERS) == 4
    assert nearest("b", "c", [*FOLLOWERS[1:2], Candidate(9, "b", 10, 5.0)]) == 9


def test_the_leader_where_it_is_near_or_nobody_is() -> None:
    assert nearest("b", "b", FOLLOWERS) == NO_REPLICA
    assert nearest("d", "c", FOLLOWERS) == NO_REPLICA
    assert nearest("", None, FOLLOWERS) == NO_REPLICA


@given(
    rack=st.sampled_from(["", "a", "b"]),
    leader_rack=st.sampled_from([None, "a", "b"]),
    candidates=st.lists(
        st.builds(
            Candidate,
            st.integers(1, 5), st.sampled_from([None, "a", "b"]), st.integers(0, 3),
            st.floats(0.0, 9.0),
        ),
        unique_by=lambda each: each.broker_id,
    ),
)  # fmt: skip
def test_whoever_is_chosen_is_in_the_rack_and_nobody_there_is_farther(
    rack: str, leader_rack: str | None, candidates: list[Candidate]
) -> None:
    chosen = nearest(rack, leader_rack, candidates)
    near = {each.broker_id: each for each in candidates if each.rack == rack}
    if chosen == NO_REPLICA:
        assert not near or leader_rack == rack or not rack
    else:
        assert max(each.log_end_offset for each in near.values()) == near[chosen].log_end_offset


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker({"replica.selector.class": RACK_AWARE, "broker.rack": "a"}) as made:
        yield made


def test_a_leader_names_a_replica_in_sync_that_has_the_offset(broker: Broker) -> None:
    topic, server = broker.create_topic(unique("t")), broker.server
    partition, own = server.replicas.require(topic, 0), server.broker_id

    def arrange() -> None:
        for broker_id in (NEAR, OTHER):
            endpoints = server.metadata.brokers[own].endpoints
            server.metadata.brokers[broker_id] = BrokerInfo(broker_id, endpoints, "b")
        partition.become_leader(1, (own, NEAR, OTHER), (own, NEAR))

    def fetches(replica_id: int, offset: int, rack: str = "", version: int = 11) -> Any:
        request = fetch_request(topic, offset, max_wait_ms=60_000 if rack == "b" else 0)
        request.replica_id, request.rack_id = replica_id, rack
        with RawClient(broker.port) as client:
            return fetched(client.call(request, version))[topic, 0]

    with RawClient(broker.port) as client:
        broker.call(arrange)
        produce(client, topic, make_batch(b"x", b"y"), acks=1)
        for replica_id in (NEAR, OTHER):
            fetches(replica_id, 2)
    named = fetches(-1, 0, "b")
    assert (named.preferred_read_replica, named.high_watermark) == (NEAR, 2)
    assert not len(named.records)
    for rack in ("", "a", "c"):
        answer = fetches(-1, 0, rack)
        assert answer.preferred_read_replica == NO_REPLICA and len(answer.records)
    with RawClient(broker.port) as client:
        produce(client, topic, make_batch(b"z"), acks=1)
    fetches(NEAR, 1)
    request = fetch_request(topic, 2)
    request.rack_id = "b"
    with RawClient(broker.port) as client:
        assert fetched(client.call(request, 11))[topic, 0].preferred_read_replica == NO_REPLICA


def test_a_selector_that_is_not_there_is_refused(tmp_path: Path) -> None:
    async def start() -> None:
        given = {
            "log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0",
            "replica.selector.class": "com.example.Mine",
        }  # fmt: skip
        with pytest.raises(StartFailed, match=r"com\.example\.Mine"):
            await BareBroker(load_config((), given)).start()

    asyncio.run(start())
