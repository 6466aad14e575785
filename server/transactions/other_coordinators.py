"""Whether a transaction is open, asked of the broker that coordinates it (KIP-890).

A partition's leader asks before the first batch of a transaction is appended: with transactions
version 1 whether the producer has added the partition, with version 2 it is added by this. What
comes in while a request is under way goes in the next one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.server.core.errors import Unanswered
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.peers.batches import Batches
from barnabas.server.peers.link import Unsupported
from barnabas.server.peers.peers import Peers
from barnabas.server.transactions.marker_requests import code_in
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

VERSIONS = (4, 5)
Codes = Mapping[TopicPartition, ErrorCode]


class Question(NamedTuple):
    """Whether these partitions are part of the producer's open transaction, or shall be."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    adds: bool = False
    """Put them under the transaction, if it is the producer's, instead of only looking."""

    def transaction(self) -> AddPartitionsToTxnTransaction:
        """What is asked of the coordinator."""
        topics: dict[str, list[int]] = {}
        for topic, index in self.partitions:
            topics.setdefault(topic, []).append(index)
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            verify_only=not self.adds,
            topics=[
                AddPartitionsToTxnTopic(name=name, partitions=indexes)
                for name, indexes in topics.items()
            ],
        )

    def answered(self, code: ErrorCode) -> dict[TopicPartition, ErrorCode]:
        """The same for every partition."""
        return dict.fromkeys(self.partitions, code)


class OtherCoordinators:
    """Asks coordinators on other brokers."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._batches = Batches(self._ask_all, lambda question: question.transactional_id)

    async def ask(self, broker_id: int, question: Question) -> Codes:
        """The error of each partition, as the coordinator says it; never raises.

        As in Kafka: NETWORK_EXCEPTION where it does not answer; NONE where it is too old to be
        asked, for then nobody verifies.
        """
        try:
            return await self._batches.ask(broker_id, question)
        except Unsupported:
            return question.answered(ErrorCode.NONE)
        except Unanswered:
            return question.answered(ErrorCode.NETWORK_EXCEPTION)

    def stop(self) -> None:
        """Ask nothing more."""
        self._batches.stop()
        self._peers.close()

    async def _ask_all(self, broker_id: int, questions: Sequence[Question]) -> Sequence[Codes]:
        request = AddPartitionsToTxnRequest(transactions=[each.transaction() for each in questions])
        response = await self._peers.send(broker_id, request, VERSIONS)
        if response.error_code:
            code = _of_all(code_in(response.error_code))
            return [each.answered(code) for each in questions]
        return list(_codes(response, questions))


def _codes(
    response: AddPartitionsToTxnResponse, questions: Iterable[Question]
) -> Iterable[dict[TopicPartition, ErrorCode]]:
    """What is said of each question; what nothing is said of is not verified."""
    found: dict[str, dict[TopicPartition, ErrorCode]] = {}
    for result in response.results_by_transaction:
        codes = found.setdefault(result.transactional_id, {})
        for topic in result.topic_results:
            for each in topic.results_by_partition:
                codes[topic.name, each.partition_index] = _of_one(
                    code_in(each.partition_error_code)
                )
    for question in questions:
        codes = found.get(question.transactional_id, {})
        yield {**question.answered(ErrorCode.INVALID_TXN_STATE), **codes}


def _of_all(code: ErrorCode) -> ErrorCode:
    """A client may do what it did; it is the broker that may not ask."""
    if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return ErrorCode.INVALID_TXN_STATE
    return code


def _of_one(code: ErrorCode) -> ErrorCode:
    """Producers know a fenced one by another name."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code
