"""Which files a path stands for, and what each of them is.

A path may name one file, a partition's directory or a data directory. Files are shown by
their name, in front of it that of the partition's directory: `orders-0/00000000000000000000.log`.
"""

import re
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.directory import (
    checkpoints,
    clean_marker,
    meta_properties,
    partition_metadata,
)
from barnabas.storage.directory_names import DELETED, TopicPartition, parse_name
from barnabas.storage.file_names import UNFINISHED
from barnabas.storage.producers.leader_epochs import FILE_NAME as LEADER_EPOCHS


class BadPath(Exception):
    """The path does not name anything that could be looked into; says why in a sentence."""


class Kind(StrEnum):
    """What a file holds."""

    LOG = "log"
    RAFT_SNAPSHOT = "raft-snapshot"
    INDEX = "index"
    TIME_INDEX = "timeindex"
    TRANSACTION_INDEX = "txnindex"
    SNAPSHOT = "snapshot"
    EPOCHS = "epochs"
    PARTITION_METADATA = "partition-metadata"
    CHECKPOINT = "checkpoint"
    META_PROPERTIES = "meta-properties"
    CLEAN_SHUTDOWN = "clean-shutdown"


class LogFile(NamedTuple):
    """One file; `base_offset` is the number in its name, 0 without one."""

    path: Path
    name: str
    kind: Kind
    base_offset: int = 0
    topic_partition: TopicPartition | None = None

    @property
    def topic(self) -> str:
        """The topic the file belongs to, empty if its directory does not tell."""
        return "" if self.topic_partition is None else self.topic_partition.topic


DATA_DIRECTORY_KINDS = (Kind.CHECKPOINT, Kind.META_PROPERTIES, Kind.CLEAN_SHUTDOWN)
"""What lies in a data directory itself."""
_BY_NAME = {
    LEADER_EPOCHS: Kind.EPOCHS,
    partition_metadata.NAME: Kind.PARTITION_METADATA,
    meta_properties.NAME: Kind.META_PROPERTIES,
    clean_marker.NAME: Kind.CLEAN_SHUTDOWN,
    checkpoints.RECOVERY_POINT: Kind.CHECKPOINT,
    checkpoints.REPLICATION: Kind.CHECKPOINT,
    checkpoints.LOG_START: Kind.CHECKPOINT,
    checkpoints.CLEANER: Kind.CHECKPOINT,
}
_NUMBERED = re.compile(
    r"([0-9]{20})\.(log|index|timeindex|txnindex|snapshot)(?:\.(?:cleaned|swap|deleted))?"
)
_RAFT_SNAPSHOT = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint|bootstrap\.checkpoint")
_ORDER = list(Kind)


def classify(path: Path) -> LogFile | None:
    """What a file is, by its name and its directory's; None for one that is no concern here."""
    folder, name = path.absolute().parent.name, path.name
    kind = _BY_NAME.get(name)
    if kind in DATA_DIRECTORY_KINDS:
        return LogFile(path, name, kind)
    parsed = parse_name(folder)
    partition = None if parsed is None else parsed.topic_partition
    shown = name if parsed is None else f"{folder}/{name}"
    if kind is not None:
        return LogFile(path, shown, kind, 0, partition)
    if match := _NUMBERED.fullmatch(name):
        return LogFile(path, shown, Kind(match[2]), int(match[1]), partition)
    if match := _RAFT_SNAPSHOT.fullmatch(name):
        return LogFile(path, shown, Kind.RAFT_SNAPSHOT, int(match[1] or 0), partition)
    return None


def find_files(path: Path) -> list[LogFile]:
    """The files that a path stands for: logs first, each kind by rising offset.

    Raises BadPath, or OSError.
    """
    if path.is_dir():
        files = [
            file for folder in (path, *partition_directories(path)) for file in files_in(folder)
        ]
        if not files:
            raise BadPath(f"{path}: no segment, index, snapshot or checkpoint is in this directory")
        return files
    if not path.exists():
        raise BadPath(f"{path}: there is no such file or directory")
    file = classify(path)
    if file is None:
        raise BadPath(f"{path}: the name is not that of a segment, index, snapshot or checkpoint")
    return [file]


def files_in(directory: Path) -> list[LogFile]:
    """The files of one directory that a running log uses, without set-aside ones."""
    used = [
        file
        for path in directory.iterdir()
        if path.suffix not in UNFINISHED and path.is_file() and (file := classify(path)) is not None
    ]
    return sorted(used, key=lambda file: (_ORDER.index(file.kind), file.base_offset, file.name))


def partition_directories(path: Path) -> list[Path]:
    """The partitions' directories in a data directory, in the order of their names.

    Those of deleted partitions, which wait for their removal, are left out.
    """
    found = []
    for folder in path.iterdir():
        parsed = parse_name(folder.name)
        if parsed is not None and parsed.suffix != DELETED and folder.is_dir():
            found.append((parsed.topic_partition, folder))
    return [folder for _, folder in sorted(found)]


def is_partition_directory(path: Path) -> bool:
    """Whether a directory is one partition's: also a data directory may be called `logs-1`."""
    if partition_directories(path):
        return False
    kinds = {file.kind for file in files_in(path)}
    if kinds & {*DATA_DIRECTORY_KINDS}:
        return False
    return Kind.LOG in kinds or parse_name(path.absolute().name) is not None
