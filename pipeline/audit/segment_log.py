"""The batches of a partition in the segment files of data directories, ours or Apache Kafka's."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipeline.audit.raw_log import UnreadableLog
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.directory.partition_metadata import read_topic_id, topic_id_text
from barnabas.storage.disk.fs import READ, FileSystem
from barnabas.storage.disk.open_files import FileCache, OpenFile
from barnabas.storage.errors import CorruptBatch, StorageError
from barnabas.storage.file_names import INDEX, LOG, base_offset_of, segment_path
from barnabas.storage.segment.offset_index import OffsetIndex

ANY_SIZE = 1 << 62


def _open_to_read(path: str, _flags: int, _mode: int) -> int:
    return os.open(path, READ)


READ_ONLY = FileSystem(open=_open_to_read)


@dataclass(frozen=True)
class BatchPlace:
    """Where a batch lies: its segment's file, the position in bytes, and its header."""

    path: str
    position: int
    header: BatchHeader


class SegmentLog:
    """Partitions in one or more data directories; of several with the same name the id decides."""

    def __init__(self, log_dirs: Sequence[str]) -> None:
        self._log_dirs = log_dirs

    def headers(
        self, topic: str, topic_id: str, partition: int, offset: int
    ) -> Iterator[BatchHeader]:
        for place in self.places(topic, topic_id, partition, offset):
            yield place.header

    def places(
        self, topic: str, topic_id: str, partition: int, offset: int
    ) -> Iterator[BatchPlace]:
        """Batches from the one that holds `offset`, or is the next one, to the end of the log.

        A batch that is cut short ends them: it is being written. Raises UnreadableLog.
        """
        try:
            folder = self._folder(topic, topic_id, partition)
            names = sorted(path.name for path in Path(folder).iterdir() if _is_segment(path.name))
        except (OSError, StorageError) as error:
            raise UnreadableLog(str(error)) from error
        bases = [base for name in names if (base := base_offset_of(name)) is not None]
        first = max(bisect_right(bases, offset) - 1, 0)
        for base in bases[first:]:
            try:
                yield from _places_in(folder, base, offset)
            except CorruptBatch:
                return
            except (OSError, StorageError) as error:
                raise UnreadableLog(f"{folder}: {error}") from error

    def _folder(self, topic: str, topic_id: str, partition: int) -> str:
        name = f"{topic}-{partition}"
        for log_dir in self._log_dirs:
            folder = f"{log_dir}/{name}"
            if not Path(folder).is_dir():
                continue
            noted = read_topic_id(READ_ONLY, folder)
            if not topic_id or noted is None or topic_id_text(noted) == topic_id:
                return folder
        raise UnreadableLog(f"no folder {name} of this topic in {', '.join(self._log_dirs)}")

    def close(self) -> None:
        """Nothing stays open."""


def _is_segment(name: str) -> bool:
    return name.endswith(LOG) and base_offset_of(name) is not None


def _places_in(folder: str, base: int, offset: int) -> Iterator[BatchPlace]:
    path = segment_path(folder, base, LOG)
    file = OpenFile(READ_ONLY, os.open(path, READ))
    start = _floor_position(segment_path(folder, base, INDEX), base, offset)
    for position, header, _ in read_batches(file, start, file.size_bytes()):
        if header.next_offset > offset:
            yield BatchPlace(path, position, header)


def _floor_position(path: str, base: int, offset: int) -> int:
    """Where to begin looking for an offset: by the index, from the start without one."""
    if offset <= base or not Path(path).exists():
        return 0
    index = OffsetIndex(FileCache(READ_ONLY), path, base, ANY_SIZE)
    try:
        index.load()
        return index.lookup(offset)[1]
    except StorageError:
        return 0
    finally:
        index.close()
