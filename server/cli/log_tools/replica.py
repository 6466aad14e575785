"""One replica of a partition as its files have it: where it begins and ends, and its batches."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from barnabas.server.cli.log_tools.files import Kind, LogFile, files_in
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition, parse_name
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptBatch, CorruptCheckpoint
from barnabas.storage.producers.leader_epochs import parse_epochs


class StoredBatch(NamedTuple):
    """A batch's header, and all of its bytes."""

    header: BatchHeader
    data: bytes


class Replica:
    """A partition's directory. All that reads it may raise OSError."""

    def __init__(self, directory: Path, shown: str) -> None:
        self.directory = directory
        self.shown = shown
        """How its data directory is called in what is said of it."""
        self.damage: CorruptBatch | CorruptCheckpoint | None = None
        """Something that cannot be read; a log that is damaged ends there."""
        self._files = files_in(directory)
        self.segments = [file for file in self._files if file.kind is Kind.LOG]
        parsed = parse_name(directory.absolute().name)
        self.topic_partition = None if parsed is None else parsed.topic_partition
        self.log_start_offset = max(self._first(), self._checkpoint(checkpoints.LOG_START))
        self.compacted_to = self._checkpoint(checkpoints.CLEANER)
        """Each replica compacts for itself: below this it need not be like others."""
        self.log_end_offset = self._end()

    def _first(self) -> int:
        return self.segments[0].base_offset if self.segments else 0

    def _checkpoint(self, name: str) -> int:
        if self.topic_partition is None:
            return 0
        path = self.directory.absolute().parent / name
        try:
            return checkpoints.read_offsets(READ_ONLY, str(path)).get(self.topic_partition, 0)
        except CorruptCheckpoint as error:
            self.damage = error
            return 0

    def _end(self) -> int:
        end = self.log_start_offset
        for header, _ in self.batches(self.segments[-1].base_offset if self.segments else 0):
            end = max(end, header.next_offset)
        return max(end, self.segments[-1].base_offset if self.segments else 0)

    def from_offset(self, offset: int) -> list[LogFile]:
        """The segments that hold an offset and those after it."""
        later = [second.base_offset > offset for _, second in pairwise(self.segments)]
        return [
            file for file, is_kept in zip(self.segments, [*later, True], strict=False) if is_kept
        ]

    def batches(self, offset: int) -> Iterator[StoredBatch]:
        """Those that reach above an offset, to the end or to where the bytes are none."""
        for file in self.from_offset(offset):
            opened = OpenFile(REAL, os.open(file.path, os.O_RDONLY))
            try:
                for _, header, chunk in read_batches(opened, 0, file.path.stat().st_size):
                    if header.next_offset > offset:
                        yield StoredBatch(header, chunk[header.position : header.end])
            except CorruptBatch as error:
                self.damage = error
                return

    def epochs(self) -> dict[int, int]:
        """The first offset of each leader epoch that the checkpoint has."""
        for file in self._files:
            if file.kind is Kind.EPOCHS:
                try:
                    return dict(parse_epochs(file.path.read_bytes()))
                except CorruptCheckpoint as error:
                    self.damage = error
        return {}


def replicas_in(path: Path) -> dict[TopicPartition, Replica]:
    """The replicas of a data directory; those set aside (moved, deleted, stray) are left out."""
    found = {}
    for folder in sorted(path.iterdir()):
        parsed = parse_name(folder.name)
        if parsed is not None and not parsed.suffix and folder.is_dir():
            found[parsed.topic_partition] = Replica(folder, str(path))
    return found
