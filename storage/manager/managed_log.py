"""A log that tells its data directory what it needs done: flushing, unlinking, going offline."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.errors import CorruptIndex, is_out_of_descriptors
from barnabas.storage.loading.aborted_rebuild import rebuild_aborted
from barnabas.storage.log.log import Log
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from barnabas.storage.manager.data_directory import DataDirectory


class ManagedLog(Log):
    """A log in a data directory of a `LogManager`."""

    __slots__ = ("data_directory", "flushed_ms", "partition", "topic_id")

    data_directory: "DataDirectory"
    partition: TopicPartition
    topic_id: bytes | None
    flushed_ms: int
    """When it was last flushed (`flush.ms`), by the monotonic clock."""

    def roll(self, now_ms: int, expected_offset: int = 0) -> Segment:
        """Roll; the closed segment is to be flushed soon, so that no restart looks at it."""
        segment = super().roll(now_ms, expected_offset)
        self.data_directory.to_flush.add(self)
        return segment

    def _set_aside(self, segment: Segment, now_ms: int) -> None:
        self.data_directory.to_unlink.add(self)
        super()._set_aside(segment, now_ms)

    def _deletion_due_ms(self, now_ms: int) -> int:
        """Counted from the last pass of maintenance, by the clock that no date can move."""
        return self.data_directory.monotonic_ms + self.config.file_delete_delay_ms

    def _before_truncation(self, offset: int) -> None:
        """Checkpoints are taken back first; what comes in the place of the cut is not clean."""
        directory, partition = self.data_directory, self.partition
        if (clean_offset := directory.clean_offsets.get(partition)) is not None:
            last = self.segments.floor(offset)
            base_offset = 0 if last is None else last.base_offset
            directory.clean_offsets[partition] = min(clean_offset, base_offset)
        directory.before_truncation(directory, {partition: offset})

    def truncate_fully_and_start_at(
        self, offset: int, now_ms: int, *, log_start_offset: int | None = None
    ) -> None:
        """Truncate; nothing is compacted any more."""
        super().truncate_fully_and_start_at(offset, now_ms, log_start_offset=log_start_offset)
        self.data_directory.clean_offsets.pop(self.partition, None)

    @property
    def is_in_use(self) -> bool:
        """Whether the log has neither been deleted nor gone offline."""
        directory = self.data_directory
        return directory.is_online and directory.logs.get(self.partition) is self

    def age_of(self, segment: Segment) -> int:
        """Timestamp in ms of a segment's newest record, of its file if records have none."""
        try:
            timestamp = self._largest_timestamp(segment)[0]
            if timestamp < 0 and segment.exists:
                timestamp = int(self.fs.stat(segment.log_file.path).st_mtime * 1000)
        except OSError as error:
            self._fail(error)
        return timestamp

    def ages(self) -> Iterator[int]:
        """`age_of` each segment, oldest first."""
        for segment in self.segments:
            yield self.age_of(segment)

    def first_timestamp_of(self, segment: Segment) -> int:
        """Timestamp in ms of a segment's first batch, -1 for none."""
        try:
            return segment.read_first_timestamp()
        except OSError as error:
            self._fail(error)

    def aborted_in(self, segment: Segment, now_ms: int) -> list[AbortedTransaction]:
        """The aborted transactions that end in a segment; a damaged index is made anew.

        Those of a segment that was there when the log was opened have been checked then, and are
        in memory; a new one's are to be asked for as it is put in its place.
        """
        try:
            return segment.transaction_index.entries()
        except (CorruptIndex, FileNotFoundError) as error:
            self._say(f"{error}; the transaction index is made anew")
        except OSError as error:
            self._fail(error)
        try:
            rebuild_aborted(
                segment,
                self.segments,
                self.producers,
                self.directory,
                self.log_start_offset,
                now_ms,
            )
        except OSError as error:
            self._fail(error)
        return segment.transaction_index.entries()

    def sync_names(self) -> None:
        """Make the names of the log's files durable; runs in the worker, raises OSError.

        A log that is deleted meanwhile moves away, which is no failure.
        """
        try:
            sync_directory(self.fs, self.directory)
        except FileNotFoundError:
            if self.is_in_use:
                raise

    def _fail(self, error: OSError) -> NoReturn:
        if self.is_in_use and not is_out_of_descriptors(error):
            self.data_directory.fail(error)
        super()._fail(error)


def partition_of(log: ManagedLog) -> TopicPartition:
    """To sort by: the same order each time, so that what a test has seen once it can see again."""
    return log.partition
