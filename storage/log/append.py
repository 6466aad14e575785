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
from barnabas.storage.append.rules import ValidatedRecords, append_rules, as_writable
from barnabas.storage.append.validation import validate_as_follower, validate_as_leader
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import (
    HEADER,
    MAX_OFFSET,
    MAX_SEQUENCE,
    BatchHeader,
    Buffer,
    HeaderFields,
)
from barnabas.storage.batch.record_times import BELIEVED_AHEAD_MS, largest_timestamp
from barnabas.storage.batch.steps import Steps
from barnabas.storage.errors import InvalidTransactionState, OffsetOutOfRange, StorageError
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.results import AppendInfo
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.log.write import BatchWriter
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin, SentBatch
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
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
_FAR_OFFSET: Final = 1 << 61  # the short way ends here: numbers beyond cost it more to compare
_LAST_FIRST_OFFSET: Final = MAX_OFFSET - (1 << 31)
"""Of an append, since no batch reaches further than this from its first offset."""


class LogAppender:
    """Validates what is appended to one log and writes it."""

    __slots__ = (
        "_believed_ahead_ms",
        "_epochs",
        "_full_validation",
        "_most_bytes",
        "_obeys_message_format",
        "_offsets",
        "_producers",
        "_rules",
        "_segment_bytes",
        "_segment_ms",
        "_store",
        "_topic_partition",
        "_writer",
        "appends_plainly",
        "refuses_transactions",
        "verification",
        "verifies_transactions",
    )

    def __init__(
        self,
        topic_partition: str,
        config: LogConfig,
        offsets: LogOffsets,
        store: SegmentStore,
        producers: ProducerState,
        epochs: LeaderEpochs,
        *,
        full_validation: bool = False,
        obeys_message_format: bool = False,
    ) -> None:
        self._topic_partition = topic_partition
        self._offsets = offsets
        self._store = store
        self._producers = producers
        self._epochs = epochs
        self._full_validation = full_validation
        self._obeys_message_format = obeys_message_format
        self._writer = BatchWriter(offsets, store, producers, epochs, config.segment_bytes)
        self.verification = self._writer.verification
        self.verifies_transactions = False
        """Whether a transaction's first batch has to show a guard
        (`transaction.partition.verification.enable`)."""
        self.refuses_transactions = False
        """Whether clients may write no transactional batches: where nobody coordinates
        transactions nobody ends them, and readers of committed data would wait for ever."""
        self.update_config(config)

    def update_config(self, config: LogConfig) -> None:
        """Use other topic settings from now on."""
        self._most_bytes = min(config.max_message_bytes, config.segment_bytes)
        self._segment_bytes = self._writer.segment_bytes = config.segment_bytes
        self._segment_ms = config.max_segment_ms
        self._believed_ahead_ms = min(config.message_timestamp_after_max_ms, BELIEVED_AHEAD_MS)
        self._rules = append_rules(
            config,
            check_records=self._full_validation,
            obeys_message_format=self._obeys_message_format,
        )
        self.appends_plainly = not self._rules.needs_records and not self._rules.is_log_append_time
        """Whether the short way can be tried, which reads no keys and rewrites no timestamps."""

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
            raise error.located(self._topic_partition) from None
        return valid if can_move(valid) else None

    def append_plain(
        self, buffer: bytearray | memoryview, leader_epoch: int, now_ms: int, allow_zstd: bool
    ) -> AppendInfo | None:
        """The short way of a client's batch, if `appends_plainly`.

        None, with nothing changed, for what has to go the long way.

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
        producers = self._producers
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
        offsets = self._offsets
        first = offsets.end
        last = first + delta
        if last > _FAR_OFFSET:
            return None
        segment = self._store.active
        used = segment.size_bytes
        try:
            if (
                leader_epoch != self._epochs.latest_epoch
                or not used
                or used + size > self._segment_bytes
                or segment.is_index_full
                or timestamp - segment.first_timestamp > self._segment_ms - segment.roll_jitter_ms
                or last - segment.base_offset > MAX_RELATIVE_OFFSET
            ):
                segment = self._writer.prepare(leader_epoch, size, timestamp, last, now_ms)
            _stamp_prefix(buffer, 0, first, length, leader_epoch)
            segment.append(buffer, first, last, timestamp, last)
        except OSError as error:
            self._store.failures.fail(error)
        offsets.end = producers.map_end_offset = last + 1
        if entry is not None:
            entry.add_batch(
                producer_epoch, (sequence + delta) & MAX_SEQUENCE, first, last, timestamp
            )
        return AppendInfo(first, last, timestamp, offsets.start, count)

    def append_set(
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
        """The long way: see `Log.append_as_leader`."""
        try:
            if self._offsets.end > _LAST_FIRST_OFFSET:
                raise OffsetOutOfRange("the log has no offsets left", offset=self._offsets.end)
            if validated is not None:
                valid = moved(validated, self._offsets.end, leader_epoch)
            else:
                valid = validate_as_leader(
                    buffer,
                    self._rules,
                    next_offset=self._offsets.end,
                    leader_epoch=leader_epoch,
                    now_ms=now_ms,
                    from_client=origin is _CLIENT,
                    one_v2_batch=one_v2_batch,
                    allow_zstd=allow_zstd,
                )
            updates = ProducerUpdates(self._producers, origin)
            for header in valid.headers:
                if self.refuses_transactions and header.is_transactional and origin is _CLIENT:
                    raise InvalidTransactionState("transactions are not coordinated here")
                if header.has_producer_id:
                    if origin is _CLIENT and (sent := updates.find_duplicate(header)):
                        return self._duplicate(sent)
                    if not header.is_control:
                        self._check_verified(header, origin, guard)
                    updates.add(valid.buffer, header, transaction_version)
            return self._writer.write(valid, updates, now_ms)
        except StorageError as error:
            raise error.located(self._topic_partition) from None
        except OSError as error:
            self._store.failures.fail(error)

    def start_transaction_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, can_bump_epoch: bool
    ) -> VerificationGuard | None:
        """The guard to show with the producer's batch once its coordinator has said yes.

        None if a transaction of it is open here: then nothing needs to be verified. The
        arguments are those of the batch; `can_bump_epoch` for transactions of version 2.
        """
        if self._producers.has_open_transaction(producer_id):
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
            and not self._producers.has_open_transaction(producer_id)
            and not verification.is_verified(producer_id, guard)
        ):
            raise InvalidTransactionState(
                f"producer {producer_id} was not verified", offset=header.base_offset
            )
        if origin is _CLIENT:
            entry = self._producers.producers.get(producer_id)
            verification.check_sequence(
                producer_id,
                header.base_sequence,
                header.base_offset,
                is_new=entry is None or not entry.batches,
            )

    def _duplicate(self, sent: SentBatch) -> AppendInfo:
        _, last_offset, offset_delta, timestamp = sent
        first_offset = last_offset - offset_delta
        start = self._offsets.start
        return AppendInfo(
            first_offset, last_offset, timestamp, start, offset_delta + 1, is_duplicate=True
        )

    def append_as_follower(self, buffer: Buffer, now_ms: int) -> AppendInfo:
        """See `Log.append_as_follower`."""
        try:
            valid = validate_as_follower(buffer, self._offsets.end)
            updates = ProducerUpdates(self._producers, AppendOrigin.REPLICATION)
            for header in valid.headers:
                if header.has_producer_id:
                    updates.add(valid.buffer, header)
            return self._writer.write(valid, updates, now_ms)
        except StorageError as error:
            raise error.located(self._topic_partition) from None
        except OSError as error:
            self._store.failures.fail(error)
