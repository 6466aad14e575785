"""Appending: from a buffer of batches to bytes in the active segment.

Here is the long way, which takes whatever there is. The short one, for what nearly every produce
request holds, is `plain_append`. Nothing is written unless all of it is valid.
"""

from typing import Final

from barnabas.storage.append.record_validation import can_move, moved, validate_in_steps
from barnabas.storage.append.rules import AppendRules, ValidatedRecords, append_rules, as_writable
from barnabas.storage.append.validation import validate_as_follower, validate_as_leader
from barnabas.storage.batch.header import MAX_OFFSET, BatchHeader, Buffer
from barnabas.storage.batch.steps import Steps
from barnabas.storage.errors import InvalidTransactionState, OffsetOutOfRange, StorageError
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.plain_append import PlainAppender
from barnabas.storage.log.results import AppendInfo
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.log.write import BatchWriter
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import AppendOrigin, SentBatch
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.producers.updates import ProducerUpdates
from barnabas.storage.producers.verification import VerificationGuard

_CLIENT: Final = AppendOrigin.CLIENT
MOST_COPIED_BYTES: Final = (1 << 31) - 1
"""Of one append of a follower: its leader may have taken what `segment.bytes` allows no more."""
_LAST_FIRST_OFFSET: Final = MAX_OFFSET - (1 << 31)
"""Of an append, since no batch reaches further than this from its first offset."""


class LogAppender:
    """Validates what is appended to one log and writes it."""

    __slots__ = (
        "_full_validation",
        "_obeys_message_format",
        "_offsets",
        "_producers",
        "_rules",
        "_store",
        "_topic_partition",
        "_writer",
        "plain",
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
        self._full_validation = full_validation
        self._obeys_message_format = obeys_message_format
        self._writer = BatchWriter(offsets, store, producers, epochs, config.segment_bytes)
        self.verification = self._writer.verification
        self.verifies_transactions = False
        """Whether a transaction's first batch has to show a guard
        (`transaction.partition.verification.enable`)."""
        self._rules = self._rules_of(config)
        self.plain = PlainAppender(
            offsets, store, producers, epochs, self._writer, config, self._rules
        )

    def update_config(self, config: LogConfig) -> None:
        """Use other topic settings from now on."""
        self._writer.segment_bytes = config.segment_bytes
        self._rules = self._rules_of(config)
        self.plain.update_config(config, self._rules)

    def take_over(self, other: "LogAppender") -> None:
        """Go on with the verifications of transactions that another log of the partition has."""
        self.verification = self._writer.verification = other.verification
        self.verifies_transactions = other.verifies_transactions

    def _rules_of(self, config: LogConfig) -> AppendRules:
        return append_rules(
            config,
            check_records=self._full_validation,
            obeys_message_format=self._obeys_message_format,
        )

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
                if header.has_producer_id:
                    if origin is _CLIENT and (sent := updates.find_duplicate(header)):
                        return self._duplicate(sent)
                    if not header.is_control:
                        self._check_verified(header, origin, guard)
                    updates.add(valid.buffer, header, transaction_version)
            return self._writer.write(valid, updates, now_ms, self._writer.segment_bytes)
        except StorageError as error:
            raise error.located(self._topic_partition) from None
        except OSError as error:
            self._store.failures.fail(error)

    def start_transaction_verification(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, can_bump_epoch: bool
    ) -> VerificationGuard | None:
        """The guard to show with the producer's batch once its coordinator has said yes.

        None if it is in a transaction that is open here: then nothing needs to be verified. The
        arguments are those of the batch; `can_bump_epoch` for transactions of version 2.
        """
        if self._producers.is_in_transaction(producer_id, epoch):
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
            and not self._producers.is_in_transaction(producer_id, header.producer_epoch)
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
            return self._writer.write(valid, updates, now_ms, MOST_COPIED_BYTES)
        except StorageError as error:
            raise error.located(self._topic_partition) from None
        except OSError as error:
            self._store.failures.fail(error)
