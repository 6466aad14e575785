"""Everything that `storage` may raise at its callers.

One family, ignorant of protocol error codes: the server maps classes to codes in one table.
Every error can name the partition, the offset and the reason. Code that walks bytes knows
only the offset and the reason; the log adds the partition on the way out (`located`).
"""

import errno
from collections.abc import Sequence
from typing import Final, Self

_OUT_OF_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
_NOT_OF_THE_DISK: Final = _OUT_OF_DESCRIPTORS | {
    errno.EAGAIN, errno.ECHILD, errno.EINTR, errno.ENOENT, errno.ENOMEM, errno.EPIPE, errno.ESRCH
}  # fmt: skip


def is_disk_failure(error: OSError) -> bool:
    """Whether the error says that nothing is known any more of what is on the disk.

    A file that has gone or been renamed, a full descriptor table, a dead child or a want of
    memory say nothing of the kind: whoever meets them tries again or gives up its job.
    """
    return error.errno not in _NOT_OF_THE_DISK


def is_out_of_descriptors(error: OSError) -> bool:
    """Whether the process, or the machine, has no descriptor left to open a file with."""
    return error.errno in _OUT_OF_DESCRIPTORS


class StorageError(Exception):
    """Base of all errors of this room."""

    def __init__(
        self, reason: str, *, topic_partition: str | None = None, offset: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.topic_partition = topic_partition
        self.offset = offset

    def located(self, topic_partition: str | None = None, offset: int | None = None) -> Self:
        """Fill in what the raiser could not know; what is known already stays."""
        if self.topic_partition is None:
            self.topic_partition = topic_partition
        if self.offset is None:
            self.offset = offset
        return self

    def __str__(self) -> str:
        place = [self.topic_partition] if self.topic_partition is not None else []
        if self.offset is not None:
            place.append(f"offset {self.offset}")
        return f"{' at '.join(place)}: {self.reason}" if place else self.reason


class CorruptBatch(StorageError):
    """Bytes that are no record batch: length, CRC, records or compressed data do not fit."""


class WrongChecksum(CorruptBatch):
    """A batch, or a message in one, whose CRC does not match its bytes."""


class InvalidRecord(StorageError):
    """A well-formed batch that must not be appended.

    `record_errors` lists (index of the record in its batch, message) where single records
    are to blame; KIP-467 tells the producer about each. `keyless_count` of them have no key
    where the topic is compacted.
    """

    def __init__(
        self,
        reason: str,
        *,
        topic_partition: str | None = None,
        offset: int | None = None,
        record_errors: Sequence[tuple[int, str]] = (),
        keyless_count: int = 0,
    ) -> None:
        super().__init__(reason, topic_partition=topic_partition, offset=offset)
        self.record_errors = list(record_errors)
        self.keyless_count = keyless_count


class MixedFormats(InvalidRecord):
    """Batches, or messages in one, of several formats."""


class WrongOffsets(InvalidRecord):
    """A batch whose record count, offsets or base sequence cannot be."""


class InvalidTimestamp(InvalidRecord):
    """A timestamp outside `message.timestamp.before.max.ms` and `message.timestamp.after.max.ms`,
    or one in a batch that must have none."""


class RecordTooLarge(StorageError):
    """A batch above `max.message.bytes`."""


class RecordListTooLarge(StorageError):
    """A set of batches above `segment.bytes`: it could never lie in one segment."""


class DecompressionTooLarge(CorruptBatch):
    """Compressed data that grows past the limit the caller set (a decompression bomb)."""


class UnsupportedCodec(StorageError):
    """A compression codec that is unknown, or not allowed in this format or request version."""


class UnsupportedMagic(CorruptBatch):
    """A message format other than 0, 1 and 2."""


class UnsupportedForMessageFormat(StorageError):
    """Something the topic's older message format cannot hold: transactions, idempotence."""


class RecordsNotConvertible(StorageError):
    """Records that the topic's older message format cannot hold: headers, zstd.

    Kafka has no error code for it and answers UNKNOWN_SERVER_ERROR.
    """


class OffsetOutOfRange(StorageError):
    """A read or truncation outside the log's start and end offset, or an append past the last
    offset there is."""


class OffsetsOutOfOrder(StorageError):
    """A follower was given batches whose offsets do not increase."""


class UnexpectedAppendOffset(StorageError):
    """A follower was given batches that start before its log end offset."""


class OutOfOrderSequence(StorageError):
    """An idempotent producer's sequence is not the one after its last (KIP-98)."""


class DuplicateSequence(StorageError):
    """An idempotent producer's batch is older than those kept for telling duplicates."""


class InvalidProducerEpoch(StorageError):
    """A producer wrote with an epoch below the newest one of its producer id."""


class UnknownProducer(StorageError):
    """No state is kept for a producer id that should have some (KIP-360)."""


class InvalidTransactionState(StorageError):
    """A transactional write that fits no open or verified transaction (KIP-890)."""


class TransactionCoordinatorFenced(StorageError):
    """A transaction marker from a coordinator older than one already seen."""


class CorruptIndex(StorageError):
    """An index file whose entries cannot be right; it has to be rebuilt from the log."""


class CorruptSnapshot(StorageError):
    """A producer snapshot with a wrong CRC, version or length; it is thrown away."""


class CorruptCheckpoint(StorageError):
    """A checkpoint or metadata file that cannot be parsed."""


class LogDirectoryFailed(StorageError):
    """The data directory failed: its partitions are offline, the others go on (KIP-112)."""


class TooManyOpenFiles(StorageError):
    """No descriptor is left (EMFILE, ENFILE): nothing was done, and nothing is wrong with the disk.

    It may be tried again as soon as some are closed.
    """


class OpeningGivenUp(StorageError):
    """The logs are not wanted any more, before all of them were opened."""


class LogDirectoryLocked(StorageError):
    """Another process holds the data directory's `.lock`."""


class InconsistentLogDirectory(StorageError):
    """`meta.properties` or `partition.metadata` names another broker, cluster or topic id."""
