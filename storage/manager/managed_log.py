"""A log that tells its data directory what it needs done: flushing, unlinking, going offline."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.loading.aborted_rebuild import rebuild_aborted
from barnabas.storage.loading.loader import Loader
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.log import Log
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction

if TYPE_CHECKING:
    from barnabas.storage.manager.data_directory import DataDirectory


class DirectoryListener(LogListener):
    """Notes in the data directory what one of its logs needs."""

    __slots__ = ("_directory", "_partition", "log")

    _directory: "DataDirectory"

    def __init__(self, directory: "DataDirectory", partition: TopicPartition) -> None:
        self._directory = directory
        self._partition = partition
        self.log: ManagedLog | None = None
        """Whose listener this is, once that has been made."""

    def rolled(self) -> None:
        """The closed segment is to be flushed soon, so that no restart looks at it."""
        if self.log is not None:
            self._directory.to_flush.add(self.log)

    def set_aside(self) -> None:
        if self.log is not None:
            self._directory.to_unlink.add(self.log)

    def deletion_clock_ms(self, now_ms: int) -> int:
        """That of the last pass of maintenance, which no date can move."""
        return self._directory.monotonic_ms

    def truncating(self, offset: int, base_offset: int) -> None:
        """Checkpoints are taken back first; what comes in the place of the cut is not clean."""
        directory, partition = self._directory, self._partition
        if (clean_offset := directory.clean_offsets.get(partition)) is not None:
            directory.clean_offsets[partition] = min(clean_offset, base_offset)
        directory.before_truncation(directory, {partition: offset})
        if self.log is not None:
            directory.on_truncation(self.log, offset)

    def emptied(self) -> None:
        """Nothing is compacted any more, and what somebody waits for to be durable is gone."""
        self._directory.clean_offsets.pop(self._partition, None)
        if self.log is not None:
            self._directory.on_truncation(self.log, 0)

    def failed(self, error: OSError) -> None:
        """The directory has failed, unless the log is none of its own any more."""
        if self.log is not None and self.log.is_in_use:
            self._directory.fail(error)


class ManagedLog(Log):
    """A log in a data directory of a `LogManager`."""

    __slots__ = ("data_directory", "flushed_ms", "partition", "topic_id")

    data_directory: "DataDirectory"

    def __init__(
        self,
        loader: Loader,
        directory: "DataDirectory",
        partition: TopicPartition,
        topic_id: bytes | None,
        *,
        full_validation: bool = False,
    ) -> None:
        listener = DirectoryListener(directory, partition)
        super().__init__(loader, str(partition), listener, full_validation=full_validation)
        self.data_directory = directory
        self.partition = partition
        self.topic_id = topic_id
        self.flushed_ms: int = directory.monotonic_ms
        """When it was last flushed (`flush.ms`), by the monotonic clock."""
        listener.log = self

    @property
    def is_in_use(self) -> bool:
        """Whether the log has neither been deleted nor replaced nor gone offline."""
        directory = self.data_directory
        return directory.is_online and (
            directory.logs.get(self.partition) is self or self.is_future
        )

    @property
    def is_future(self) -> bool:
        """Whether the log is being filled, to replace the partition's."""
        return self.data_directory.future_logs.get(self.partition) is self

    def age_of(self, segment: Segment) -> int:
        """Timestamp in ms of a segment's newest record, of its file if records have none."""
        try:
            timestamp = self.store.indexes.largest_timestamp(segment)[0]
            if timestamp < 0 and segment.exists:
                timestamp = int(self.fs.stat(segment.log_file.path).st_mtime * 1000)
        except OSError as error:
            self.failures.fail(error)
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
            self.failures.fail(error)

    def aborted_in(self, segment: Segment, now_ms: int) -> list[AbortedTransaction]:
        """The aborted transactions that end in a segment; a damaged index is made anew.

        Those of a segment that was there when the log was opened have been checked then, and are
        in memory; a new one's are to be asked for as it is put in its place.
        """
        try:
            return segment.transaction_index.entries()
        except (CorruptIndex, FileNotFoundError) as error:
            self.store.indexes.say(f"{error}; the transaction index is made anew")
        except OSError as error:
            self.failures.fail(error)
        try:
            self.store.reserve_descriptors()
            rebuild_aborted(
                segment,
                self.segments,
                self.producers,
                self.directory,
                self.log_start_offset,
                now_ms,
            )
        except OSError as error:
            self.failures.fail(error)
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


def partition_of(log: ManagedLog) -> TopicPartition:
    """To sort by: the same order each time, so that what a test has seen once it can see again."""
    return log.partition
