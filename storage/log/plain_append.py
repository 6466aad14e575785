"""The short way of an append, for what nearly every produce request holds.

That is one format 2 batch that is kept as it is. Its header is unpacked once, offset and leader
epoch are stamped into the buffer, and one write puts it behind the others. Anything unusual, and
anything wrong, takes the long way (`append`), which decides again from the start.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

from barnabas.storage.append.rules import AppendRules
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import HEADER, MAX_SEQUENCE, Buffer, HeaderFields
from barnabas.storage.batch.record_times import BELIEVED_AHEAD_MS, largest_timestamp
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.results import AppendInfo
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.log.write import BatchWriter
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET

_unpack: Final[Callable[[Buffer], HeaderFields]] = HEADER.unpack_from
_stamp_prefix: Final = Struct(">qii").pack_into
_UNCOMMON_ATTRIBUTES: Final = ~0x17  # all but the codec and TRANSACTIONAL
_HEADER_BYTES: Final = HEADER.size
_TRANSACTIONAL: Final = 0x10
_CODEC_MASK: Final = 7
_LZ4: Final = 3
_ZSTD: Final = 4
_FAR_OFFSET: Final = 1 << 61  # the short way ends here: numbers beyond cost it more to compare


class PlainAppender:
    """Appends single batches to one log that need nothing but an offset."""

    __slots__ = (
        "_believed_ahead_ms",
        "_epochs",
        "_most_bytes",
        "_offsets",
        "_producers",
        "_segment_bytes",
        "_segment_ms",
        "_store",
        "_writer",
        "applies",
    )

    def __init__(
        self,
        offsets: LogOffsets,
        store: SegmentStore,
        producers: ProducerState,
        epochs: LeaderEpochs,
        writer: BatchWriter,
        config: LogConfig,
        rules: AppendRules,
    ) -> None:
        self._offsets = offsets
        self._store = store
        self._producers = producers
        self._epochs = epochs
        self._writer = writer
        self.update_config(config, rules)

    def update_config(self, config: LogConfig, rules: AppendRules) -> None:
        """Use other topic settings from now on."""
        self._most_bytes = min(config.max_message_bytes, config.segment_bytes)
        self._segment_bytes = config.segment_bytes
        self._segment_ms = config.max_segment_ms
        self._believed_ahead_ms = min(config.message_timestamp_after_max_ms, BELIEVED_AHEAD_MS)
        self.applies = not rules.needs_records and not rules.is_log_append_time
        """Whether it can be tried: it reads no keys and rewrites no timestamps."""

    def append(
        self, buffer: bytearray | memoryview, leader_epoch: int, now_ms: int, allow_zstd: bool
    ) -> AppendInfo | None:
        """Append a client's batch, if it `applies`; None, with nothing changed, if it does not do.

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
            entry.written_ms = now_ms
        return AppendInfo(first, last, timestamp, offsets.start, count)
