"""What a partition keeps of transactions, asked through a broker that is killed meanwhile."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import MAX_SEQUENCE
from barnabas.storage.batch.records import Record
from barnabas.storage.directory.checkpoints import LOG_START
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.server.raw_client import RawClient
from tests.server.records import LATEST, list_offset, make_batch, produce, produce_request
from tests.server.transaction_requests import V1, Transactional, find_coordinator
from tests.server.transactions.transactional_client import committed
from tests.server.waiting import wait_until

SETTINGS = {"log.flush.start.offset.checkpoint.interval.ms": 50}
READ_COMMITTED = 1
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class Writer:
    """A transactional producer that says itself which sequence a batch has."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.broker, self.topic = broker, topic
        self.client = RawClient(broker.port)
        find_coordinator(self.client, "writer")
        self.producer = Transactional(self.client, "writer").begin()
        self.version = 12

    def write(self, sequence: int, *values: bytes) -> tuple[int, int]:
        """One batch from this sequence on: error code and first offset."""
        batch = build_batch(
            [Record(number, int(time.time() * 1000), None, v) for number, v in enumerate(values)],
            producer_id=self.producer.id.producer_id, producer_epoch=self.producer.id.epoch,
            base_sequence=sequence, is_transactional=True,
        )  # fmt: skip
        request = produce_request(self.topic, batch)
        request.transactional_id = self.producer.name
        (answer,) = self.client.call(request, self.version).responses[0].partition_responses
        return answer.error_code, answer.base_offset

    def begin_again(self) -> None:
        """The broker dies and comes back; the transaction is still open."""
        self.client.sock.close()
        self.broker.kill()
        self.broker.start()
        self.client = self.producer.client = RawClient(self.broker.port)
        find_coordinator(self.client, self.producer.name)
        wait_until(lambda: self.producer.described.error_code == 0)

    def end(self, *, commit: bool = True) -> None:
        assert self.producer.end(commit=commit) == 0
        wait_until(lambda: self.producer.state.startswith("Complete"))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    with Broker(SETTINGS, data_dir=tmp_path) as broker:
        broker.create_topic("t", 1)
        made = Writer(broker, "t")
        yield made
        made.client.sock.close()


def delete_before(writer: Writer, offset: int) -> None:
    """Delete records, for good."""
    partitions = [DeleteRecordsPartition(partition_index=0, offset=offset)]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=partitions)], timeout_ms=10_000
    )
    (answer,) = writer.client.call(request, 2).topics
    assert (answer.partitions[0].error_code, answer.partitions[0].low_watermark) == (0, offset)
    noted = Path(str(writer.broker.data_dir)) / LOG_START
    wait_until(lambda: noted.exists() and f"t 0 {offset}" in noted.read_text().splitlines())


def committed_from(client: RawClient, offset: int) -> list[bytes]:
    """What a reader of committed data is given, once nothing holds it up."""
    wait_until(lambda: committed(client, "t", 0, offset)[1])
    return committed(client, "t", 0, offset)[0]


def stable_offset(client: RawClient) -> int:
    return list_offset(client, "t", LATEST, isolation_level=READ_COMMITTED).offset


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_records_deleted_from_the_middle_of_an_open_transaction(
    writer: Writer, commit: bool, dies: bool
) -> None:
    for sequence in range(4):
        assert writer.write(sequence, b"%d" % sequence) == (0, sequence)
    produce(writer.client, "t", make_batch(b"plain"))
    assert stable_offset(writer.client) == 0
    delete_before(writer, 2)
    assert stable_offset(writer.client) == 2
    if dies:
        writer.begin_again()
        assert stable_offset(writer.client) == 2
    writer.end(commit=commit)
    kept = [b"2", b"3", b"plain"] if commit else [b"plain"]
    assert committed_from(writer.client, 2) == kept


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("commit", [False, True])
def test_all_records_of_an_open_transaction_are_deleted(
    writer: Writer, commit: bool, dies: bool
) -> None:
    assert writer.write(0, b"a", b"b") == (0, 0)
    produce(writer.client, "t", make_batch(b"plain"))
    delete_before(writer, 2)
    if dies:
        writer.begin_again()
    writer.end(commit=commit)
    assert committed_from(writer.client, 2) == [b"plain"]
    assert stable_offset(writer.client) == 4


@pytest.mark.parametrize("dies", [False, True])
def test_sequences_go_on_at_0_behind_the_last_there_is(writer: Writer, dies: bool) -> None:
    """An old client's: one of the second protocol has to begin at 0 itself."""
    writer.producer.protocol, writer.version = V1, 11
    assert writer.producer.add(("t", 0)) == [0]
    assert writer.write(MAX_SEQUENCE - 1, b"a") == (0, 0)
    if dies:
        writer.begin_again()
    assert writer.write(MAX_SEQUENCE, b"b", b"c", b"d") == (0, 1)  # numbers MAX, 0, 1
    if dies:
        writer.begin_again()
    assert writer.write(MAX_SEQUENCE, b"b", b"c", b"d") == (0, 1)
    assert writer.write(1, b"e") == (OUT_OF_ORDER, -1)
    assert writer.write(3, b"e") == (OUT_OF_ORDER, -1)
    assert writer.write(2, b"e") == (0, 4)
    writer.end()
    assert committed_from(writer.client, 0) == [b"a", b"b", b"c", b"d", b"e"]


@pytest.mark.parametrize("dies", [False, True])
def test_the_last_five_batches_are_known_and_no_more(writer: Writer, dies: bool) -> None:
    for sequence in range(7):
        assert writer.write(sequence, b"%d" % sequence) == (0, sequence)
    if dies:
        writer.begin_again()
    for sequence in range(2, 7):
        assert writer.write(sequence, b"%d" % sequence) == (0, sequence)
    assert writer.write(1, b"1") == (OUT_OF_ORDER, -1)
    writer.end()
    assert committed_from(writer.client, 0) == [b"%d" % number for number in range(7)]
