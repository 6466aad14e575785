"""Two brokers on one tree: markers to the other's partitions, and questions to its coordinator."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.core.clock import ManualClock
from barnabas.server.peers.dialing import dial
from barnabas.server.peers.peers import Peers
from barnabas.server.requests.faults import Fault, Faults
from barnabas.server.transactions.other_coordinators import OtherCoordinators, Question
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Request
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from barnabas.wire.schema import Message
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.peers.other_broker import OtherBroker
from tests.server.transactions.open_transactions import (
    PRODUCER,
    ended,
    is_open,
    markers_in,
    open_transaction,
)
from tests.server.waiting import eventually

CLIENT = "broker-0-txn-marker-sender"


class Seen:
    """The requests that a broker has answered."""

    def __init__(self, broker: Broker) -> None:
        self.markers: list[tuple[str | None, Any]] = []
        broker.dispatcher.observer = self.observe

    def observe(self, header: Any, request: Message, response: Message | None) -> None:
        if header.api_key == ApiKey.WRITE_TXN_MARKERS:
            self.markers.append((header.client_id, request))


async def with_topic(cluster: Cluster, topic: str, *leaders: int) -> None:
    """A topic whose partitions are led by these brokers, known to all, a transaction in each."""
    replicas = {index: [leader] for index, leader in enumerate(leaders)}
    await cluster.brokers[0].topics.create(topic, replicas, {})
    for broker in cluster.brokers.values():
        await eventually(lambda broker=broker: topic in broker.metadata.topics)  # type: ignore[misc]
    for index, leader in enumerate(leaders):
        open_transaction(cluster.brokers[leader].replicas.require(topic, index))


def still_open(cluster: Cluster, topic: str) -> list[int]:
    return [
        partition.index
        for broker in cluster.brokers.values()
        for partition in broker.replicas
        if partition.topic == topic and is_open(partition)
    ]


def play(folder: Path, scene: Callable[[Cluster], Awaitable[None]]) -> None:
    async def run() -> None:
        async with cluster_of(folder, 2) as cluster:
            await scene(cluster)

    asyncio.run(run())


def test_a_marker_goes_to_each_partitions_leader(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await with_topic(cluster, "t", 0, 1, 1)
        seen = [Seen(broker) for broker in cluster.brokers.values()]
        keys = [("t", index) for index in range(3)]
        await cluster.brokers[0].transaction_parts.markers.write(ended(*keys, is_commit=False))
        assert still_open(cluster, "t") == []
        assert [len(each.markers) for each in seen] == [1, 1]
        client_id, request = seen[1].markers[0]
        assert client_id == CLIENT
        assert request.markers[0].topics[0].partition_indexes == [1, 2]
        other = cluster.brokers[1].replicas.require("t", 1)
        assert markers_in(other) == [(PRODUCER, 0, False)]

    play(tmp_path, scene)


def test_many_ends_at_a_time_are_few_requests(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await with_topic(cluster, "t", 1)
        seen = Seen(cluster.brokers[1])
        sender = cluster.brokers[0].transaction_parts.markers
        ends = (ended(("t", 0), producer_id=number) for number in range(100))
        await asyncio.gather(*(sender.write(each) for each in ends))
        assert len(seen.markers) <= 2
        assert sum(len(request.markers) for _, request in seen.markers) == 100
        assert len(markers_in(cluster.brokers[1].replicas.require("t", 0))) == 100

    play(tmp_path, scene)


@pytest.mark.parametrize("action", ["drop", "close", "close_after", "truncate", "error"])
def test_what_is_lost_between_brokers_comes_again(tmp_path: Path, action: Any) -> None:
    async def scene(cluster: Cluster) -> None:
        await with_topic(cluster, "t", 1)
        faults = cluster.brokers[1].dispatcher.faults = Faults()
        code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        fault = faults.add(Fault(action=action, api=ApiKey.WRITE_TXN_MARKERS, times=2, error=code))
        writing = asyncio.ensure_future(
            cluster.brokers[0].transaction_parts.markers.write(ended(("t", 0)))
        )
        if action == "drop":
            for hits in (1, 2):
                await eventually(lambda hits=hits: fault.hits == hits)  # type: ignore[misc]
                cluster.brokers[0].clock.advance(cluster.brokers[0].config.request_timeout_ms)
        await asyncio.wait_for(writing, 10)
        assert fault.hits == 2
        assert still_open(cluster, "t") == []
        done = 3 if action in ("close_after", "truncate") else 1
        assert len(markers_in(cluster.brokers[1].replicas.require("t", 0))) == done

    play(tmp_path, scene)


def test_a_leader_that_is_down_is_waited_for(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await with_topic(cluster, "t", 0, 1)
        await cluster.stop(cluster.brokers[1])
        sender = cluster.brokers[0].transaction_parts.markers
        writing = asyncio.ensure_future(sender.write(ended(("t", 0), ("t", 1))))
        await eventually(lambda: still_open(cluster, "t") == [])
        cluster.brokers[0].clock.advance("1 hour")
        assert not writing.done()
        again = await cluster.start(1)
        await asyncio.wait_for(writing, 10)
        assert not is_open(again.replicas.require("t", 1))

    play(tmp_path, scene)


def test_a_topic_that_is_deleted_meanwhile_needs_no_marker(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await with_topic(cluster, "t", 1)
        faults = cluster.brokers[1].dispatcher.faults = Faults()
        faults.add(
            Fault(action="error", api=ApiKey.WRITE_TXN_MARKERS, error=ErrorCode.KAFKA_STORAGE_ERROR)
        )
        writing = asyncio.ensure_future(
            cluster.brokers[0].transaction_parts.markers.write(ended(("t", 0)))
        )
        await eventually(lambda: any(each.hits for each in faults))
        assert not writing.done()
        await cluster.brokers[0].topics.mark_for_deletion("t")
        await asyncio.wait_for(writing, 10)
        assert "t" not in cluster.brokers[0].metadata.topics

    play(tmp_path, scene)


def test_a_broker_that_stops_asks_no_more(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await with_topic(cluster, "t", 1)
        faults = cluster.brokers[1].dispatcher.faults = Faults()
        fault = faults.add(Fault(action="drop", api=ApiKey.WRITE_TXN_MARKERS))
        writing = asyncio.ensure_future(
            cluster.brokers[0].transaction_parts.markers.write(ended(("t", 0)))
        )
        await eventually(lambda: fault.hits == 1)
        await cluster.stop(cluster.brokers[0])
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        assert still_open(cluster, "t") == [0]

    play(tmp_path, scene)


# Questions to another coordinator.

QUESTION = Question("txn", PRODUCER, 0, (("t", 0), ("t", 1)))
ADDED = Question("other", 9, 3, (("t", 0),), adds=True)


class Asked:
    """What a coordinator was asked, and what it says."""

    def __init__(self) -> None:
        self.transactions: list[Any] = []
        self.codes: dict[tuple[str, int], ErrorCode] = {}
        self.error = ErrorCode.NONE
        self.answers = True

    def __call__(self, request: Request) -> AddPartitionsToTxnResponse | None:
        asked: Any = request.message()
        self.transactions += asked.transactions
        if not self.answers:
            return None
        return AddPartitionsToTxnResponse(
            error_code=int(self.error),
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id,
                    topic_results=[
                        AddPartitionsToTxnTopicResult(
                            name=topic.name,
                            results_by_partition=[
                                AddPartitionsToTxnPartitionResult(
                                    partition_index=n,
                                    partition_error_code=int(
                                        self.codes.get((topic.name, n), ErrorCode.NONE)
                                    ),
                                )
                                for n in topic.partitions
                            ],
                        )
                        for topic in each.topics
                    ],
                )
                for each in asked.transactions
            ],
        )


def ask_other(
    scene: Callable[[OtherCoordinators, OtherBroker, Asked, ManualClock], Awaitable[None]],
) -> None:
    async def run() -> None:
        asked, clock = Asked(), ManualClock()
        other = OtherBroker(asked)
        await other.start()
        peers = Peers(lambda _: other.address, "broker-0-txn-verifier", clock, lambda: 30_000, dial)
        coordinators = OtherCoordinators(peers)
        try:
            await scene(coordinators, other, asked, clock)
        finally:
            coordinators.stop()
            await other.stop()

    asyncio.run(run())


def test_a_question_is_answered_for_each_partition() -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        asked.codes = {("t", 1): ErrorCode.TRANSACTION_ABORTABLE}
        assert await coordinators.ask(1, QUESTION) == {
            ("t", 0): ErrorCode.NONE, ("t", 1): ErrorCode.TRANSACTION_ABORTABLE
        }  # fmt: skip
        (transaction,) = asked.transactions
        assert (transaction.transactional_id, transaction.producer_id) == ("txn", PRODUCER)
        assert transaction.verify_only
        assert [(each.name, each.partitions) for each in transaction.topics] == [("t", [0, 1])]
        assert other.requests[0].header.api_version == 5

    ask_other(scene)


def test_questions_that_come_together_go_together() -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        many = [QUESTION._replace(transactional_id=f"txn-{n}") for n in range(20)]
        await asyncio.gather(*(coordinators.ask(1, each) for each in (*many, ADDED)))
        assert len(asked.transactions) == 21
        assert len(other.requests) <= 2
        assert [each.verify_only for each in asked.transactions] == [True] * 20 + [False]

    ask_other(scene)


def test_two_of_one_transaction_are_both_answered() -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        pair = (QUESTION, QUESTION._replace(partitions=(("u", 3),)))
        first, second = await asyncio.gather(*(coordinators.ask(1, each) for each in pair))
        assert set(first) == {("t", 0), ("t", 1)} and set(second) == {("u", 3)}

    ask_other(scene)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_an_error_of_the_whole_is_that_of_each_partition(said: ErrorCode, told: ErrorCode) -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        asked.error = said
        assert set((await coordinators.ask(1, QUESTION)).values()) == {told}

    ask_other(scene)


def test_a_fenced_producer_is_told_so_in_the_words_of_produce() -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        asked.codes = {("t", 0): ErrorCode.PRODUCER_FENCED}
        codes = await coordinators.ask(1, QUESTION)
        assert codes["t", 0] is ErrorCode.INVALID_PRODUCER_EPOCH

    ask_other(scene)


def test_a_coordinator_that_does_not_answer() -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        asked.answers = False
        asking = asyncio.ensure_future(coordinators.ask(1, QUESTION))
        await eventually(lambda: bool(asked.transactions))
        clock.advance(30_000)
        assert set((await asking).values()) == {ErrorCode.NETWORK_EXCEPTION}

    ask_other(scene)


def test_a_coordinator_too_old_to_be_asked_lets_everything_pass() -> None:
    async def scene(
        coordinators: OtherCoordinators, other: OtherBroker, asked: Asked, clock: ManualClock
    ) -> None:
        other.served[ApiKey.ADD_PARTITIONS_TO_TXN] = (0, 3)
        assert set((await coordinators.ask(1, QUESTION)).values()) == {ErrorCode.NONE}
        assert asked.transactions == []

    ask_other(scene)
