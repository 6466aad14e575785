"""Requests about transactions, in the few words that tests want to spend on them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until

TRANSACTION = 1
TIMEOUT_MS = 60_000
V1, V2 = 1, 2


class Id(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int = -1
    epoch: int = -1


NOBODY = Id()


def add_request(
    name: str, producer: Id, partitions: Iterable[tuple[str, int]]
) -> AddPartitionsToTxnRequest:
    """AddPartitionsToTxn as clients send it (v0-v3)."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=by_topic(partitions),
    )


def by_topic(partitions: Iterable[tuple[str, int]]) -> list[AddPartitionsToTxnTopic]:
    """Partitions as requests have them."""
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return [AddPartitionsToTxnTopic(name=name, partitions=ids) for name, ids in topics.items()]


def of_broker(
    name: str, producer: Id, partitions: Iterable[tuple[str, int]], *, verify_only: bool = False
) -> AddPartitionsToTxnTransaction:
    """One transaction of AddPartitionsToTxn as brokers send it (v4-v5)."""
    return AddPartitionsToTxnTransaction(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=verify_only,
        topics=by_topic(partitions),
    )


class Transactional:
    """A producer with a transactional id; what it was told last is `id`.

    `protocol` is V1 or V2: the highest versions of requests that go with it are used.
    """

    def __init__(self, client: RawClient, name: str, protocol: int = V2) -> None:
        self.client, self.name, self.protocol = client, name, protocol
        self.id = Id()

    def init(self, version: int = 5, *, known: Id = NOBODY, timeout_ms: int = TIMEOUT_MS) -> int:
        """InitProducerId, once; the error code."""
        request = InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=timeout_ms,
            producer_id=known.producer_id,
            producer_epoch=known.epoch,
        )
        answer = self.client.call(request, version)
        if not answer.error_code:
            self.id = Id(answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    def begin(self) -> "Transactional":
        """InitProducerId until an open transaction has ended; itself."""
        wait_until(lambda: self.init() == ErrorCode.NONE)
        return self

    def add(self, *partitions: tuple[str, int], version: int = 3) -> list[int]:
        """AddPartitionsToTxn until what went before has ended; the codes of the partitions."""
        codes: list[int] = []

        def added() -> bool:
            request = add_request(self.name, self.id, partitions)
            answer = self.client.call(request, version)
            codes[:] = [
                partition.partition_error_code
                for topic in answer.results_by_topic_v3_and_below
                for partition in topic.results_by_partition
            ]
            return ErrorCode.CONCURRENT_TRANSACTIONS not in codes

        wait_until(added)
        return codes

    def add_offsets(self, group: str, version: int = 4) -> int:
        """AddOffsetsToTxn; the error code."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.id.producer_id,
            producer_epoch=self.id.epoch,
            group_id=group,
        )
        return int(self.client.call(request, version).error_code)

    def end_answer(self, *, commit: bool = True, by: Id | None = None, version: int = 0) -> Any:
        """EndTxn, once; its answer."""
        who = by or self.id
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            committed=commit,
        )
        return self.client.call(request, version or (5 if self.protocol == V2 else 4))

    def end(self, *, commit: bool = True, by: Id | None = None) -> int:
        """EndTxn, once; the error code."""
        answer = self.end_answer(commit=commit, by=by)
        if answer.producer_id >= 0:
            self.id = Id(answer.producer_id, answer.producer_epoch)
        return int(answer.error_code)

    @property
    def described(self) -> Any:
        """What DescribeTransactions says of it."""
        request = DescribeTransactionsRequest(transactional_ids=[self.name])
        (state,) = self.client.call(request, 0).transaction_states
        return state

    @property
    def state(self) -> str:
        """The name of its state."""
        return str(self.described.transaction_state)


def producer_of(client: RawClient, protocol: int = V2) -> Transactional:
    """A producer with a transactional id of its own, which has begun."""
    made = Transactional(client, unique("mover"), protocol)
    find_coordinator(client, made.name)
    return made.begin()


def find_coordinator(client: RawClient, name: str) -> None:
    """What every client does first: it brings `__transaction_state` into being."""
    request = FindCoordinatorRequest(key=name, key_type=TRANSACTION)
    assert client.call(request, 3).error_code == 0
