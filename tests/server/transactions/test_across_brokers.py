"""A transaction that one broker coordinates and whose records another leads, by requests alone."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from barnabas.server.broker import Broker
from barnabas.server.core.topic_names import TRANSACTION_TOPIC
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.schema import Message
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.raw_client import RawClient
from tests.server.records import produce_request
from tests.server.transactions.transactional_client import (
    TransactionalClient,
    batch_in_transaction,
    committed,
)
from tests.server.waiting import eventually, wait_until

T = TypeVar("T")
VERSION_2 = 12  # of Produce: partitions are added by writing


class Client:
    """Connections to both brokers; everything it does is done in a thread."""

    def __init__(self, coordinator: Broker, leader: Broker) -> None:
        self.coordinator = RawClient(coordinator.listeners[0].port)
        self.leader = RawClient(leader.listeners[0].port)
        self.producer_id, self.epoch = -1, -1

    def close(self) -> None:
        self.coordinator.sock.close()
        self.leader.sock.close()

    def init(self) -> None:
        request = InitProducerIdRequest(transactional_id="txn", transaction_timeout_ms=60_000)
        answer = self.coordinator.call(request, 5)
        assert answer.error_code == ErrorCode.NONE
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def write(self, value: bytes, version: int, sequence: int = 0) -> ErrorCode:
        batch = batch_in_transaction(value, self.producer_id, self.epoch, sequence)
        request = produce_request("t", batch, 0)
        request.transactional_id = "txn"
        (answer,) = self.leader.call(request, version).responses[0].partition_responses
        return ErrorCode(answer.error_code)

    def end(self, *, commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id="txn",
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        answer = self.coordinator.call(request, 5)
        assert answer.error_code == ErrorCode.NONE
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch


async def two_brokers(cluster: Cluster) -> tuple[Broker, Broker]:
    """One that coordinates every transactional id, one that leads the topic."""
    first = await cluster.start(0)
    await first.topics.ensure_internal(TRANSACTION_TOPIC)
    count = first.config.transaction_state_log_num_partitions
    await first.topics.wait_until_served(TRANSACTION_TOPIC, 10_000, count)
    second = await cluster.start(1)
    await first.topics.create("t", {0: [1]}, {})
    await eventually(lambda: "t" in second.metadata.topics)
    await eventually(lambda: TRANSACTION_TOPIC in second.metadata.topics)
    return first, second


def play(folder: Path, scene: Callable[[Client, Broker, Broker], Awaitable[None]]) -> None:
    async def run() -> None:
        async with cluster_of(folder, 0) as cluster:
            first, second = await two_brokers(cluster)
            client = Client(first, second)
            try:
                await scene(client, first, second)
            finally:
                client.close()

    asyncio.run(run())


def seen_by(broker: Broker, api: ApiKey) -> list[tuple[int, Any]]:
    """The requests of an API that a broker answers from now on, with their versions."""
    seen: list[tuple[int, Any]] = []

    def observe(header: Any, request: Message, _: Message | None) -> None:
        if header.api_key == api:
            seen.append((header.api_version, request))

    broker.dispatcher.observer = observe
    return seen


@pytest.mark.parametrize("commit", [True, False])
def test_writing_adds_the_partition_at_the_other_broker(tmp_path: Path, commit: bool) -> None:
    async def scene(client: Client, first: Broker, second: Broker) -> None:
        asked = seen_by(first, ApiKey.ADD_PARTITIONS_TO_TXN)
        await asyncio.to_thread(client.init)
        for sequence in range(3):
            code = await asyncio.to_thread(client.write, b"v", VERSION_2, sequence)
            assert code is ErrorCode.NONE
        ((version, request),) = asked
        assert version == 5 and not request.transactions[0].verify_only
        assert first.transactions.describe("txn").partitions == {("t", 0)}
        await asyncio.to_thread(lambda: client.end(commit=commit))
        values = [b"v"] * 3 if commit else []
        read = committed_at(client)
        await asyncio.to_thread(lambda: wait_until(lambda: read() == (values, True)))

    play(tmp_path, scene)


def committed_at(client: Client) -> Callable[[], tuple[list[bytes], bool]]:
    return lambda: committed(client.leader, "t", 0)


def test_transactions_follow_each_other(tmp_path: Path) -> None:
    """Each goes on with the epoch that the last one's end has told."""

    async def scene(client: Client, first: Broker, second: Broker) -> None:
        await asyncio.to_thread(client.init)

        def many() -> None:
            for number in range(10):
                assert client.write(b"%d" % number, VERSION_2) is ErrorCode.NONE
                client.end(commit=number % 2 == 0)
            wait_until(lambda: committed(client.leader, "t", 0)[1])
            assert committed(client.leader, "t", 0)[0] == [b"0", b"2", b"4", b"6", b"8"]

        await asyncio.to_thread(many)

    play(tmp_path, scene)


def test_a_batch_of_no_open_transaction_is_refused(tmp_path: Path) -> None:
    async def scene(client: Client, first: Broker, second: Broker) -> None:
        await asyncio.to_thread(client.init)
        asked = seen_by(first, ApiKey.ADD_PARTITIONS_TO_TXN)
        code = await asyncio.to_thread(client.write, b"v", 9)
        assert code is ErrorCode.INVALID_TXN_STATE
        assert [request.transactions[0].verify_only for _, request in asked] == [True]
        producer = TransactionalClient(client.coordinator, "txn")
        producer.producer_id, producer.epoch = client.producer_id, client.epoch
        await asyncio.to_thread(producer.add, [("t", 0)])
        assert await asyncio.to_thread(client.write, b"v", 9) is ErrorCode.NONE
        assert await asyncio.to_thread(client.write, b"w", 9, 1) is ErrorCode.NONE
        assert len([r for v, r in asked if v >= 4]) == 2, "only until it is open there"

    play(tmp_path, scene)


def test_a_fenced_producer_is_refused_by_the_other_broker(tmp_path: Path) -> None:
    async def scene(client: Client, first: Broker, second: Broker) -> None:
        await asyncio.to_thread(client.init)
        old = client.epoch
        await asyncio.to_thread(client.init)
        assert client.epoch > old
        client.epoch = old
        code = await asyncio.to_thread(client.write, b"v", VERSION_2)
        assert code is ErrorCode.INVALID_PRODUCER_EPOCH

    play(tmp_path, scene)
