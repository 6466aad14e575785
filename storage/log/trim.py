"""Taking records away at either end of a log."""

from barnabas.storage.batch.header import MAX_OFFSET
from barnabas.storage.errors import OffsetOutOfRange
from barnabas.storage.loading.producer_rebuild import rebuild_producers
from barnabas.storage.log.flush import LogFlusher
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.segment import Segment


class LogTrimmer:
    """Truncation, deletion of the oldest segments, and raising the log start offset.

    Segments, offsets, epochs and producers are brought in line.
    """

    __slots__ = (
        "_epochs",
        "_flusher",
        "_listener",
        "_offsets",
        "_producers",
        "_store",
        "_topic_partition",
        "producer_id_expiration_ms",
    )

    def __init__(
        self,
        topic_partition: str,
        offsets: LogOffsets,
        store: SegmentStore,
        flusher: LogFlusher,
        producers: ProducerState,
        epochs: LeaderEpochs,
        listener: LogListener,
        producer_id_expiration_ms: int,
    ) -> None:
        self._topic_partition = topic_partition
        self._offsets = offsets
        self._store = store
        self._flusher = flusher
        self._producers = producers
        self._epochs = epochs
        self._listener = listener
        self.producer_id_expiration_ms = producer_id_expiration_ms

    # --- at the end --------------------------------------------------------------------

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """See `Log.truncate_to`."""
        if offset < 0:
            raise ValueError(f"{self._topic_partition}: truncation to offset {offset}")
        try:
            if offset >= self._offsets.end:
                self._epochs.truncate_from_end(self._offsets.end)
                self._epochs.write()
                return False
            if offset < self._store.segments.first.base_offset:
                self.truncate_fully_and_start_at(offset, now_ms, None)
            else:
                self._truncate_to(offset, now_ms)
        except OSError as error:
            self._store.failures.fail(error)
        return True

    def _truncate_to(self, offset: int, now_ms: int) -> None:
        offsets = self._offsets
        self._store.reserve_descriptors()
        self._tell(offset)
        self._store.truncate_to(offset, now_ms)
        offsets.end = offset
        self._flusher.go_back()
        offsets.start = min(offsets.start, offset)
        self._epochs.truncate_from_end(offset)
        self._epochs.write()
        self._rebuild_producers(now_ms)
        offsets.update_high_watermark(min(offsets.high_watermark, offset))
        offsets.update_first_unstable()

    def _tell(self, offset: int) -> None:
        last = self._store.segments.floor(offset)
        self._listener.truncating(offset, 0 if last is None else last.base_offset)

    def truncate_fully_and_start_at(
        self, offset: int, now_ms: int, log_start_offset: int | None
    ) -> None:
        """See `Log.truncate_fully_and_start_at`."""
        if not 0 <= offset <= MAX_OFFSET + 1:
            raise OffsetOutOfRange(
                "no log can begin there", topic_partition=self._topic_partition, offset=offset
            )
        start = offset if log_start_offset is None else log_start_offset
        try:
            self._store.reserve_descriptors()
            self._tell(min(offset, start))
            self._store.start_anew(offset, now_ms)
            self._epochs.clear()
            self._epochs.write()
            self._producers.start_at(offset)
            self._offsets.end = self._flusher.recovery_point = offset
            self._offsets.start = start
            self._rebuild_producers(now_ms)
            self._offsets.high_watermark = offset
            self._offsets.update_first_unstable()
        except OSError as error:
            self._store.failures.fail(error)
        self._listener.emptied()

    def _rebuild_producers(self, now_ms: int) -> None:
        rebuild_producers(
            self._producers,
            self._store.segments,
            self._offsets.start,
            self._offsets.end,
            now_ms,
            self.producer_id_expiration_ms,
        )
        for damage in self._producers.damages:
            self._store.indexes.say(damage)
        self._producers.damages.clear()

    # --- at the start ------------------------------------------------------------------

    def delete_old_segments(self, count: int, now_ms: int) -> int:
        """See `Log.delete_old_segments`."""
        store = self._store
        try:
            doomed = self._deletable(count)
            if doomed:
                store.reserve_descriptors()
                if len(doomed) == len(store.segments):
                    store.roll(self._offsets.end, now_ms)
                store.forget(doomed)
                self._start_at_first_segment()
                store.set_aside(doomed, now_ms)
        except OSError as error:
            store.failures.fail(error)
        return len(doomed)

    def _deletable(self, count: int) -> list[Segment]:
        """At most `count`, none of which reaches above the high watermark."""
        doomed: list[Segment] = []
        segments = self._store.segments
        for segment in list(segments)[:count]:
            following = segments.after(segment.base_offset)
            end = self._offsets.end if following is None else following.base_offset
            is_empty = following is None and not segment.size_bytes
            if end > self._offsets.high_watermark or is_empty:
                break
            doomed.append(segment)
        return doomed

    def _start_at_first_segment(self) -> None:
        offset = self._store.segments.first.base_offset
        if offset > self._offsets.start:
            self._raise_start(offset)

    def maybe_increment_log_start_offset(self, offset: int) -> bool:
        """See `Log.maybe_increment_log_start_offset`."""
        if offset > self._offsets.high_watermark:
            raise OffsetOutOfRange(
                f"above the high watermark {self._offsets.high_watermark}",
                topic_partition=self._topic_partition,
                offset=offset,
            )
        if offset <= self._offsets.start:
            return False
        try:
            self._raise_start(offset)
        except OSError as error:
            self._store.failures.fail(error)
        return True

    def _raise_start(self, offset: int) -> None:
        self._offsets.start = offset
        self._epochs.truncate_from_start(offset)
        self._producers.on_log_start_offset(offset)
        self._offsets.update_first_unstable()
        self._epochs.write()
