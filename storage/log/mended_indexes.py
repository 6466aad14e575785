"""Searching segments whose indexes may turn out to be bad: they are made anew, once."""

import logging
from typing import Final

from barnabas.storage.disk.fs import FileSystem, sync_directory
from barnabas.storage.errors import CorruptBatch, CorruptIndex
from barnabas.storage.loading.job import LoadReport
from barnabas.storage.segment.index_checks import check_largest_timestamp
from barnabas.storage.segment.recovery import rebuild_indexes
from barnabas.storage.segment.search import UNKNOWN
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments

_logger: Final = logging.getLogger(__name__)


class MendedIndexes:
    """The indexes of one log's segments. Its methods raise OSError if the disk fails."""

    __slots__ = ("_directory", "_fs", "_segments", "_topic_partition", "report")

    def __init__(
        self,
        fs: FileSystem,
        directory: str,
        topic_partition: str,
        segments: Segments,
        report: LoadReport,
    ) -> None:
        self._fs = fs
        self._directory = directory
        self._topic_partition = topic_partition
        self._segments = segments
        self.report = report

    def relocate(self, directory: str) -> None:
        """The log's directory has another name now."""
        self._directory = directory

    def locate(self, segment: Segment, offset: int) -> tuple[int, int] | None:
        """`Segment.locate`, with an index that turns out to be bad made anew."""
        try:
            return segment.locate(offset)
        except (CorruptIndex, FileNotFoundError) as error:
            self.mend(segment, error)
            return segment.locate(offset)

    def largest_timestamp(self, segment: Segment) -> tuple[int, int]:
        """`Segment.largest_timestamp`, checked against the batches once."""
        try:
            if segment.max_timestamp == UNKNOWN:
                index = segment.time_index
                check_largest_timestamp(segment, index.last_timestamp, index.last_offset)
            return segment.largest_timestamp()
        except (CorruptIndex, FileNotFoundError) as error:
            self.mend(segment, error)
            return segment.largest_timestamp()

    def mend(self, segment: Segment, error: CorruptIndex | FileNotFoundError) -> None:
        """Make a segment's bad indexes anew, once; after that it is the batches that are bad."""
        if segment.was_mended:
            raise CorruptBatch(str(error), topic_partition=self._topic_partition) from error
        segment.files.reserve(self._directory)
        segment.was_mended = True
        self.say(f"{error}; the indexes are made anew")
        mode = segment.files.mode
        is_warm_only, mode.is_warm_only = mode.is_warm_only, False  # half of it is worse than none
        try:
            rebuild_indexes(segment)
        except CorruptBatch as bad:
            raise bad.located(self._topic_partition) from None
        finally:
            mode.is_warm_only = is_warm_only
        if segment is not self._segments.last:
            # Below the recovery point no flush looks at it again.
            segment.sync()
            sync_directory(self._fs, self._directory)

    def say(self, text: str) -> None:
        """Note what had to be mended, and log it."""
        self.report.notes.append(text)
        _logger.warning("%s: %s", self._topic_partition, text)
