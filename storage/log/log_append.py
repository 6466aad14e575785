"""Appending: from a buffer of batches to bytes in the active segment.

The short way is for what nearly every produce request holds: one format 2 batch that is kept
as it is. Its header is unpacked once, offset and leader epoch are stamped into the buffer, and
one write puts it behind the others. Anything unusual, and anything wrong, takes the long way,
which decides again from the start. Nothing is written unless all of it is valid.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from barnabas.storage.append.record_validation import can_move, moved, validate_in_steps
from barnabas.storage.append.rules import ValidatedRecords, as_writable
from barnabas.storage.append.validation import validate_as_follower, validate_as_leader
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import (
    HEADER,
    MAGIC_V2,
    MAX_OFFSET,
    MAX_SEQUENCE,
    BatchHeader,
    Buffer,
    HeaderFields,
)
from barnabas.storage.batch.record_times import largest_timestamp
from barnabas.storage.batch.steps import Steps
from barnabas.storage.errors import InvalidTransactionState, OffsetOutOfRange, StorageError
from barnabas.storage.log.log_write import LogWrite
from barnabas.storage.log.results import AppendInfo
from barnabas.storage.producers.entry import AppendOrigin, SentBatch
from barnabas.storage.producers.updates import ProducerUpdates
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET

_unpack: Final[Callable[[Buffer], HeaderFields]] = HEADER.unpack_from
_stamp_prefix: Final = Struct(">qii").pack_into
_CLIENT: Final = AppendOrigin.CLIENT
_UNCOMMON_ATTRIBUTES: Final = ~0x17  # all but the codec and TRANSACTIONAL
_HEADER_BYTES: Final = HEADER.size
_TRANSACTIONAL: Final = 0x10
_CODEC_MASK: Final = 7
_LZ4: Final = 3
_ZSTD: Final = 4
_LARGE_BYTES: Final = 32 << 10
_MANY_RECORDS: Final = 2_000
_LEGACY_ATTRIBUTES_POSITION: Final = 17
_FAR_OFFSET: Final = 1 << 61  # the short way ends here: numbers beyond cost it more to compare
_LAST_FIRST_OFFSET: Final = MAX_OFFSET - (1 << 31)
"""Of an append, since no batch reaches further than this from its first offset."""


class TakesLong(Exception):
    """Every record of a large set has to be looked at, which is to be done in steps."""


def _takes_long(buffer: bytearray | memoryview) -> bool:
    """Whether so many records may be in it that validation at once keeps others waiting."""
    size = len(buffer)
    if size < _HEADER_BYTES or size > _LARGE_BYTES:
        return size > _LARGE_BYTES
    fields = _unpack(buffer)
    if fields[3] >= MAGIC_V2:
        return fields[-1] > _MANY_RECORDS
    return buffer[_LEGACY_ATTRIBUTES_POSITION] & _CODEC_MASK != 0  # their number is not told


class LogAppend(LogWrite):
    """Appending."""

    __slots__ = ()

    def append_as_leader(
        self,
        buffer: bytearray | memoryview,
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int = 0,
        one_v2_batch: bool = False,
        allow_zstd: bool = True,
        verification_guard: VerificationGuard | None = None,
        at_once: bool = True,
        validated: ValidatedRecords | None = None,
    ) -> AppendInfo:
        """Give the batches the next offsets and write them; `buffer` is changed in place.

        `one_v2_batch` is the rule of Produce from version 3 on, `allow_zstd` that from 7 on;
        `verification_guard` is from `start_transaction_verification`; `transaction_version`
        matters to markers. Raises a StorageError that says which rule was broken, and where;
        then nothing was appended. LogDirectoryFailed means that the disk failed instead.

        Without `at_once` it raises TakesLong where the long way would be one of many records:
        `validate_in_steps` then does what takes long of it, and its result goes in `validated`.
        """
        if origin is _CLIENT and self._appends_plainly and validated is None:
            info = self._append_plain(buffer, leader_epoch, now_ms, allow_zstd)
            if info is not None:
                return info
        if not at_once and validated is None and _takes_long(buffer):
            raise TakesLong
        return self._append_set(
            buffer, leader_epoch, now_ms, origin, transaction_version, one_v2_batch,
            allow_zstd, verification_guard, validated,
        )  # fmt: skip

    def validate_in_steps(
        self,
        buffer: bytearray | memoryview,
        now_ms: int,
        *,
        one_v2_batch: bool = False,
        allow_zstd: bool = True,
    ) -> Steps[ValidatedRecords | None]:
        """Look into what a client wants to append; meanwhile others may append.

        None for what cannot be done ahead, since its bytes depend on where it goes: compressed
        records of format 0. Raises as `append_as_leader`.
        """
        try:
            valid = yield from validate_in_steps(
                as_writable(buffer), self._rules, 0, -1, now_ms, True, one_v2_batch, allow_zstd
            )
        except StorageError as error:
            raise error.located(self.topic_partition) from None
        return valid if can_move(valid) else None

    def _append_plain(
        self, buffer: bytearray | memoryview, leader_epoch: int, now_ms: int, allow_zstd: bool
    ) -> AppendInfo | None:
        """The short way; None, with nothing changed, for what has to go the long way.

        One function for speed: a call costs as much here as three of these comparisons.
        """
        size = len(buffer)
        if size < _HEADER_BYTES:
            return None
        (
            base_offset, length, _, magic, crc, attributes, delta, base_timestamp, timestamp,
            producer_id, producer_epoch, sequence, count,
        ) = _unpack(buffer)  # fmt: skip
        if (
            magic != 2
            or length != size - 12
            or base_offset
            or count != delta + 1
            or delta < 0
            or attributes & _UNCOMMON_ATTRIBUTES
            or attributes & _CODEC_MASK > (_ZSTD if allow_zstd else _LZ4)
            or size > self._most_bytes
            or not 0 <= timestamp <= now_ms + self._believed_ahead_ms
            or crc32c(memoryview(buffer)[21:]) != crc
            or timestamp
            != largest_timestamp(buffer, attributes & _CODEC_MASK, count, base_timestamp, timestamp)
        ):
            return None
        producers = self.producers
        entry = None
        if producer_id >= 0:
            entry = producers.producers.get(producer_id)
            if (
                entry is None
                or producer_epoch != entry.epoch
                or not entry.batches
                or sequence != (entry.batches[-1][0] + 1) & MAX_SEQUENCE
                or (attributes & _TRANSACTIONAL != 0)
                == (entry.current_transaction_first_offset < 0)
                or (attributes & _TRANSACTIONAL and self.refuses_transactions)
            ):
                return None
        elif attributes & _TRANSACTIONAL:
            return None
        first = self.log_end_offset
        last = first + delta
        if last > _FAR_OFFSET:
            return None
        segment = self._active
        used = segment.size_bytes
        try:
            if (
                leader_epoch != self.epochs.latest_epoch
                or not used
                or used + size > self._segment_bytes
                or segment.is_index_full
                or timestamp - segment.first_timestamp > self._segment_ms - segment.roll_jitter_ms
                or last - segment.base_offset > MAX_RELATIVE_OFFSET
            ):
                segment = self._prepare(leader_epoch, size, timestamp, last, now_ms)
            _stamp_prefix(buffer, 0, first, length, leader_epoch)
            segment.append(buffer, first, last, timestamp, last)
        except OSError as error:
            self._fail(error)
        self.log_end_offset = producers.map_end_offset = last + 1
        if entry is not None:
            entry.add_batch(
                producer_epoch, (sequence + delta) & MAX_SEQUENCE, first, last, timestamp
            )
        return AppendInfo(first, last, timestamp, self.log_start_offset, count)

    def _append_set(
        self,
        buffer: bytearray | memoryview,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        transaction_version: int,
        one_v2_batch: bool,
        allow_zstd: bool,
        guard: VerificationGuard | None,
        validated: ValidatedRecords | None,
    ) -> AppendInfo:
        """The long way."""
        try:
            if self.log_end_offset > _LAST_FIRST_OFFSET:
                raise OffsetOutOfRange("the log has no offsets left", offset=self.log_end_offset)
            if validated is not None:
                valid = moved(validated, self.log_end_offset, leader_epoch)
            else:
                valid = validate_as_leader(
                    buffer,
                    self._rules,
                    next_offset=self.log_end_offset,
                    leader_epoch=leader_epoch,
                    now_ms=now_ms,
                    from_client=origin is _CLIENT,
                    one_v2_batch=one_v2_batch,
                    allow_zstd=allow_zstd,
                )
            updates = ProducerUpdates(self.producers, origin)
            for header in valid.headers:
                if self.refuses_transactions and header.is_transactional and origin is _CLIENT:
                    raise InvalidTransactionState("transactions are not coordinated here")
                if header.has_producer_id:
                    if origin is _CLIENT and (sent := updates.find_duplicate(header)):
                        return self._duplicate(sent)
                    if not header.is_control:
                        self._check_verified(header, origin, guard)
                    updates.add(valid.buffer, header, transaction_version)
            return self._write_set(valid, updates, now_ms)
        except StorageError as error:
            raise error.located(self.topic_partition) from None
        except OSError as error:
            self._fail(error)

    def start_transaction_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, can_bump_epoch: bool
    ) -> VerificationGuard | None:
        """The guard to show with the producer's batch once its coordinator has said yes.

        None if a transaction of it is open here: then nothing needs to be verified. The
        arguments are those of the batch; `can_bump_epoch` for transactions of version 2.
        """
        if self.producers.has_open_transaction(producer_id):
            return None
        return self.verification.start(
            producer_id, epoch, sequence, now_ms, can_bump_epoch=can_bump_epoch
        )

    def _check_verified(
        self, header: BatchHeader, origin: AppendOrigin, guard: VerificationGuard | None
    ) -> None:
        producer_id, verification = header.producer_id, self.verification
        if (
            self.verifies_transactions
            and header.is_transactional
            and not self.producers.has_open_transaction(producer_id)
            and not verification.is_verified(producer_id, guard)
        ):
            raise InvalidTransactionState(
                f"producer {producer_id} was not verified", offset=header.base_offset
            )
        if origin is _CLIENT:
            entry = self.producers.producers.get(producer_id)
            verification.check_sequence(
                producer_id,
                header.base_sequence,
                header.base_offset,
                is_new=entry is None or not entry.batches,
            )

    def _duplicate(self, sent: SentBatch) -> AppendInfo:
        _, last_offset, offset_delta, timestamp = sent
        first_offset = last_offset - offset_delta
        start = self.log_start_offset
        return AppendInfo(
            first_offset, last_offset, timestamp, start, offset_delta + 1, is_duplicate=True
        )

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> AppendInfo:
        """Write batches that a leader has validated, offsets and epochs as they are.

        A last batch that is cut short, as in an answer to a fetch, is left out. Raises
        CorruptBatch, OffsetsOutOfOrder or UnexpectedAppendOffset.
        """
        try:
            valid = validate_as_follower(buffer, self.log_end_offset)
            updates = ProducerUpdates(self.producers, AppendOrigin.REPLICATION)
            for header in valid.headers:
                if header.has_producer_id:
                    updates.add(valid.buffer, header)
            return self._write_set(valid, updates, now_ms)
        except StorageError as error:
            raise error.located(self.topic_partition) from None
        except OSError as error:
            self._fail(error)
