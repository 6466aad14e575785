"""The checkpoint files of a data directory: one offset for each partition in it.

    0                         version
    2                         number of lines that follow
    orders 0 1017             topic, partition, offset
    orders 1 998

`recovery-point-offset-checkpoint`: all before it is on the disk; recovery starts there.
`replication-offset-checkpoint`: high watermarks.
`log-start-offset-checkpoint`: only partitions whose start lies inside their first segment.
`cleaner-offset-checkpoint`: compaction has seen all before it.

Source: Kafka's OffsetCheckpointFile, CheckpointFile.
"""

from collections.abc import Mapping

from barnabas.storage.batch.header import MAX_OFFSET
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import FileSystem, read_file, replace_file
from barnabas.storage.errors import CorruptCheckpoint

RECOVERY_POINT = "recovery-point-offset-checkpoint"
REPLICATION = "replication-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
PERIODIC = (RECOVERY_POINT, LOG_START, REPLICATION)
"""Those that follow the logs' state as time goes by, and at a stop."""
ALL = (*PERIODIC, CLEANER)

_VERSION = "0"

Offsets = dict[TopicPartition, int]


def build_offsets(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The content of a checkpoint file."""
    lines = [_VERSION, str(len(offsets))]
    lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
    lines.append("")
    return "\n".join(lines).encode()


def write_offsets(fs: FileSystem, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace a checkpoint file; after a crash it holds either the old or the new offsets."""
    replace_file(fs, path, build_offsets(offsets))


def read_offsets(fs: FileSystem, path: str) -> Offsets:
    """The offsets of a checkpoint file; none if it is absent or empty.

    Raises CorruptCheckpoint naming the file and the line.
    """
    try:
        text = read_file(fs, path).decode()
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{path}: {error}") from None
    return parse_offsets(path, text.splitlines())


def parse_offsets(path: str, lines: list[str]) -> Offsets:
    """The offsets in the lines of a checkpoint; raises CorruptCheckpoint."""
    if not lines:
        return {}
    if lines[0] != _VERSION:
        raise CorruptCheckpoint(f"{path}: version {lines[0]!r}, only {_VERSION} is known")
    if len(lines) < 2 or not lines[1].isdecimal() or int(lines[1]) != len(lines) - 2:
        raise CorruptCheckpoint(
            f"{path}: line 2 does not count the {len(lines) - 2} lines after it"
        )
    return dict(_parse_line(path, number, line) for number, line in enumerate(lines[2:], 3))


def _parse_line(path: str, number: int, line: str) -> tuple[TopicPartition, int]:
    fields = line.split()
    try:
        topic, partition, digits = fields
        offset = int(digits)
        if offset > MAX_OFFSET + 1:
            raise ValueError(offset)
        return TopicPartition(topic, int(partition)), offset
    except ValueError:
        raise CorruptCheckpoint(
            f"{path}: line {number} is not topic, partition, offset: {line!r}"
        ) from None
