"""A transactional producer over one connection, and a reader of committed records."""

import time
from collections.abc import Iterable
from typing import Any

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record, decode_batch
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from barnabas.wire.messages.end_txn import EndTxnRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.server.raw_client import RawClient
from tests.server.records import data_of, fetch, fetched, produce_request
from tests.server.waiting import wait_until

COMING = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


class TransactionalClient:
    """A producer with a transactional id, of the first protocol (TV1)."""

    def __init__(self, client: RawClient, transactional_id: str) -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.producer_id, self.epoch = -1, -1
        self._sequences: dict[tuple[str, int], int] = {}

    def init(self) -> None:
        """Begin, as soon as that can be."""
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=60_000
        )
        answer: Any = None

        def has_begun() -> bool:
            nonlocal answer
            answer = self.client.call(request, 4)
            assert answer.error_code in (ErrorCode.NONE, *COMING)
            return bool(answer.error_code == ErrorCode.NONE)

        wait_until(has_begun, 30)
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    def send(self, value: bytes, partitions: Iterable[tuple[str, int]]) -> None:
        """Add partitions to the transaction, and write a record to each."""
        partitions = list(partitions)
        self.add(partitions)
        for topic, index in partitions:
            self.write(topic, index, value)

    def add(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Add partitions to the transaction, as soon as the last one is over."""
        topics = [AddPartitionsToTxnTopic(name=t, partitions=[n]) for t, n in partitions]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )

        def is_added() -> bool:
            answer = self.client.call(request, 3)
            codes = {
                each.partition_error_code
                for topic in answer.results_by_topic_v3_and_below
                for each in topic.results_by_partition
            }
            assert codes <= {ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS}
            return codes == {ErrorCode.NONE}

        wait_until(is_added)

    def write(self, topic: str, index: int, value: bytes) -> None:
        """Write a record to a partition that has been added."""
        sequence = self._sequences.get((topic, index), 0)
        self._sequences[topic, index] = sequence + 1
        batch = batch_in_transaction(value, self.producer_id, self.epoch, sequence)
        request = produce_request(topic, batch, index)
        request.transactional_id = self.transactional_id
        code = ErrorCode.NOT_ENOUGH_REPLICAS

        def is_answered() -> bool:
            nonlocal code
            (answer,) = self.client.call(request, 9).responses[0].partition_responses
            code = ErrorCode(answer.error_code)
            return code is not ErrorCode.NOT_ENOUGH_REPLICAS  # also of a coordinator that moves

        wait_until(is_answered)
        assert code is ErrorCode.NONE

    def write_and_add(self, topic: str, index: int, value: bytes) -> ErrorCode:
        """As the second protocol does (TV2): the broker adds the partition; tried for a while."""
        request = produce_request(
            topic, batch_in_transaction(value, self.producer_id, self.epoch), index
        )
        request.transactional_id = self.transactional_id
        code = ErrorCode.CONCURRENT_TRANSACTIONS

        def is_answered() -> bool:
            nonlocal code
            (answer,) = self.client.call(request, 12).responses[0].partition_responses
            code = ErrorCode(answer.error_code)
            return code not in (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS)

        wait_until(is_answered)
        return code

    def end_raising_epoch(self, *, commit: bool) -> None:
        """The end of the second protocol: the next transaction has the next epoch."""
        answer = self.client.call(self._end_request(commit), 5)
        assert answer.error_code == ErrorCode.NONE
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

    def end(self, *, commit: bool) -> None:
        """End the transaction; that is certain when this returns."""
        assert self.client.call(self._end_request(commit), 3).error_code == ErrorCode.NONE

    def _end_request(self, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )


def batch_in_transaction(
    value: bytes, producer_id: int, epoch: int, sequence: int = 0
) -> bytearray:
    """A batch of one record, written now."""
    return build_batch(
        [Record(0, int(time.time() * 1000), None, value)], producer_id=producer_id,
        producer_epoch=epoch, base_sequence=sequence, is_transactional=True,
    )  # fmt: skip


def committed(
    client: RawClient, topic: str, index: int, offset: int = 0
) -> tuple[list[bytes], bool]:
    """What a reader of committed data is given from an offset on.

    And whether nothing holds it up before the end.
    """
    values: list[bytes] = []
    while True:
        answer = fetched(fetch(client, (topic, index, offset, 1 << 20), isolation_level=1))
        found = answer[topic, index]
        assert found.error_code == ErrorCode.NONE, (found.error_code, offset)
        before = offset
        aborted = sorted((a.first_offset, a.producer_id) for a in found.aborted_transactions or ())
        open_aborted: set[int] = set()
        data = data_of(found) if found.records is not None else b""
        for header in walk(data, partial_tail=True):
            offset = header.next_offset
            while aborted and aborted[0][0] <= header.base_offset:
                open_aborted.add(aborted.pop(0)[1])
            if header.is_control:
                open_aborted.discard(header.producer_id)
            elif header.producer_id not in open_aborted:
                values += [record.value or b"" for record in decode_batch(data, header)]
        if offset == before:
            return values, found.last_stable_offset == found.high_watermark == offset
