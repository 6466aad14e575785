"""Transactional ids as records of `__transaction_state`, in the versions that Kafka writes.

The key begins with an int16 that says what it is (0: a transactional id), the value with its
own version; a null value is a tombstone. Version 0 is written while `transaction.version` 0 is
finalized. Version 1, which releases from 3.8 on read, has room for the ids before and after a
rotation, which Kafka itself leaves out, and for the client's protocol.
"""

from collections.abc import Iterable
from struct import Struct, error

from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import Transaction
from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.transaction_log_key import TransactionLogKey
from barnabas.wire.messages.transaction_log_value import PartitionsSchema, TransactionLogValue

TRANSACTION = 0
_TYPE = Struct(">h")
_PREFIX_BYTES = _TYPE.size
_KEY = TransactionLogKey.at(0)
_VERSIONS = TransactionLogValue.VERSIONS


class MalformedRecord(Exception):
    """A key or value that cannot be read."""


class UnknownVersion(Exception):
    """A record of a kind or version that this coordinator does not know."""


def encode_key(transactional_id: str) -> bytes:
    """The key of a transactional id."""
    return _TYPE.pack(TRANSACTION) + _KEY.build(
        TransactionLogKey(transactional_id=transactional_id)
    )


def decode_key(key: bytes | None) -> str:
    """The transactional id of a record. Raises MalformedRecord or UnknownVersion."""
    try:
        record_type = _TYPE.unpack_from(key or b"")[0]
        if record_type != TRANSACTION:
            raise UnknownVersion(f"records of type {record_type} are not known")
        return _KEY.decode(memoryview(key or b""), _PREFIX_BYTES).transactional_id
    except (error, ProtocolError) as fault:
        raise MalformedRecord(f"a key cannot be read: {fault}") from None


def encode_value(transaction: Transaction, transaction_version: int) -> bytes:
    """The value of a transactional id while this `transaction.version` is finalized.

    What only version 1 has room for and the transaction cannot go without is never left out.
    """
    version = 1 if transaction_version > 0 or transaction.client_version > 0 else 0
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.value,
        transaction_partitions=_by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    if version > 0:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return _TYPE.pack(version) + TransactionLogValue.at(version).build(value)


def decode_value(transactional_id: str, value: bytes) -> Transaction:
    """A transactional id out of its record. Raises MalformedRecord or UnknownVersion."""
    try:
        version = _TYPE.unpack_from(value)[0]
        if version not in _VERSIONS:
            raise UnknownVersion(f"values of version {version} are not known")
        read = TransactionLogValue.at(version).decode(memoryview(value), _PREFIX_BYTES)
        state = TransactionState(read.transaction_status)
    except (error, ProtocolError, ValueError) as fault:
        raise MalformedRecord(f"a transaction cannot be read: {fault}") from None
    return Transaction(
        transactional_id,
        read.producer_id,
        read.transaction_timeout_ms,
        read.transaction_last_update_timestamp_ms,
        producer_epoch=read.producer_epoch,
        previous_producer_id=read.previous_producer_id,
        next_producer_id=read.next_producer_id,
        state=state,
        partitions=frozenset(_partitions(read.transaction_partitions or ())),
        start_ms=read.transaction_start_timestamp_ms,
        client_version=read.client_transaction_version,
    )


def _by_topic(transaction: Transaction) -> list[PartitionsSchema] | None:
    if transaction.state is TransactionState.EMPTY:
        return None
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic=name, partition_ids=ids) for name, ids in topics.items()]


def _partitions(topics: Iterable[PartitionsSchema]) -> Iterable[TopicPartition]:
    return ((each.topic, index) for each in topics for index in each.partition_ids)
