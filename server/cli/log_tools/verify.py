"""`barnabas log verify`: everything that is wrong in a partition's or a data directory."""

from collections.abc import Iterator
from pathlib import Path

from barnabas.server.cli.log_tools.files import (
    BadPath,
    Kind,
    LogFile,
    files_in,
    is_partition_directory,
    partition_directories,
)
from barnabas.server.cli.log_tools.output import emitter, line_printer
from barnabas.server.cli.log_tools.problems import Problem, Problems, damaged
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.server.cli.log_tools.text import Line
from barnabas.server.cli.log_tools.verify_partition import PartitionCheck
from barnabas.server.cli.output import note
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.directory.lock import is_held
from barnabas.storage.directory.meta_properties import read_meta_properties
from barnabas.storage.directory_names import TopicPartition, parse_name
from barnabas.storage.errors import CorruptCheckpoint


def verify(path: Path, *, as_json: bool, shallow: bool) -> bool:
    """Check a directory and print what is wrong; True if nothing is. Raises BadPath, OSError."""
    check = DirectoryCheck(path, shallow=shallow)
    if check.is_in_use():
        note(
            f"{path} is in use by a broker: what it is writing may be taken for damage;"
            " stop it to be sure"
        )
    count = 0
    if as_json:
        emit = emitter(as_json=True)
        for problem in check.run():
            count += 1
            emit(problem.row())
        emit({"type": "summary", "problems": count} | check.counts())
        return count == 0
    show = line_printer()
    for problem in check.run():
        count += 1
        show(problem.line())
    numbers = ", ".join(f"{number} {what}" for what, number in check.counts().items())
    found = "no problems" if count == 0 else f"problems: {count}"
    show(Line(f"{found} ({numbers})", "bold green" if count == 0 else "bold red"))
    return count == 0


class DirectoryCheck:
    """A data directory, or a single partition's, with the checkpoints it finds beside it."""

    def __init__(self, path: Path, *, shallow: bool) -> None:
        if not path.is_dir():
            raise BadPath(f"{path}: there is no such directory")
        self._shallow = shallow
        self._own_files: list[LogFile] = []
        if is_partition_directory(path):
            self._partitions = [path]
            self._top = path.absolute().parent
        else:
            self._partitions = partition_directories(path)
            self._own_files = files_in(path)
            self._top = path
            if not self._partitions and not self._own_files:
                raise BadPath(f"{path}: neither a partition's directory nor a data directory")
        self._checks: dict[TopicPartition | None, PartitionCheck] = {}
        self._starts: Offsets = {}

    def is_in_use(self) -> bool:
        """Whether a broker holds the data directory. Raises OSError."""
        return is_held(READ_ONLY, str(self._top))

    def counts(self) -> dict[str, int]:
        """How much was looked at."""
        checks = self._checks.values()
        return {
            "partitions": len(self._partitions),
            "segments": sum(check.segments for check in checks),
            "batches": sum(check.batches for check in checks),
        }

    def run(self) -> Problems:
        """Everything that is wrong. Raises OSError."""
        try:
            self._starts = checkpoints.read_offsets(
                READ_ONLY, str(self._top / checkpoints.LOG_START)
            )
        except CorruptCheckpoint:
            pass  # reported with the other checkpoints of a data directory
        for directory in self._partitions:
            parsed = parse_name(directory.absolute().name)
            partition = None if parsed is None else parsed.topic_partition
            start = 0 if partition is None else self._starts.get(partition, 0)
            check = PartitionCheck(directory, start, shallow=self._shallow)
            self._checks[partition] = check
            yield from check.run()
        yield from self._topic_ids()
        for file in self._own_files:
            yield from self._own_file(file)

    def _topic_ids(self) -> Problems:
        """All partitions of a topic have its id."""
        ids: dict[str, bytes] = {}
        for partition, check in self._checks.items():
            if partition is not None and check.topic_id is not None:
                if ids.setdefault(partition.topic, check.topic_id) != check.topic_id:
                    name = f"{check.directory.name}/partition.metadata"
                    yield Problem(
                        name, "another topic id than that of the topic's other partitions"
                    )

    def _own_file(self, file: LogFile) -> Problems:
        try:
            if file.kind is Kind.META_PROPERTIES:
                read_meta_properties(READ_ONLY, str(file.path.parent))
            elif file.kind is Kind.CHECKPOINT:
                offsets = checkpoints.read_offsets(READ_ONLY, str(file.path))
                yield from self._offsets(file, offsets)
        except CorruptCheckpoint as error:
            yield damaged(file, error)

    def _offsets(self, file: LogFile, offsets: Offsets) -> Iterator[Problem]:
        """No offset is above its log's end; partitions that are gone do not matter."""
        for partition, offset in offsets.items():
            check = self._checks.get(partition)
            if check is None or check.is_cut:
                continue
            end = max(check.next_offset, self._starts.get(partition, 0))
            if offset > end:
                yield Problem(file.name, f"{partition} has {offset}, its log ends at {end}")
