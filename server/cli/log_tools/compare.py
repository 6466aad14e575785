"""`barnabas log verify --compare`: are the replicas in several brokers' data directories one?"""

from collections.abc import Sequence
from pathlib import Path

from barnabas.server.cli.log_tools.compare_partition import SEGMENTS, PartitionComparison
from barnabas.server.cli.log_tools.files import BadPath, is_partition_directory
from barnabas.server.cli.log_tools.output import emitter, line_printer
from barnabas.server.cli.log_tools.replica import Replica, replicas_in
from barnabas.server.cli.log_tools.text import Line
from barnabas.storage.directory_names import TopicPartition


def compare(paths: Sequence[Path], *, as_json: bool) -> bool:
    """Compare and print; True if all are the same. Raises BadPath, OSError."""
    comparison = Comparison(paths)
    return _print_json(comparison) if as_json else _print_lines(comparison)


def _print_json(comparison: "Comparison") -> bool:
    emit = emitter(as_json=True)
    count = 0
    for partition in comparison.partitions:
        for difference in partition.run():
            count += 1
            emit(difference.row())
        emit(partition.row())
    emit({"type": "summary", "differences": count} | comparison.counts())
    return count == 0


def _print_lines(comparison: "Comparison") -> bool:
    show = line_printer()
    count = 0
    for partition in comparison.partitions:
        for difference in partition.run():
            count += 1
            show(difference.line())
        for note in partition.notes():
            show(note)
    numbers = ", ".join(
        f"{number} {what.replace('_', ' ')}" for what, number in comparison.counts().items()
    )
    found = "no differences" if count == 0 else f"differences: {count}"
    show(Line(f"{found} ({numbers})", "bold green" if count == 0 else "bold red"))
    return count == 0


class Comparison:
    """Data directories of brokers of one cluster, or one partition's directories."""

    def __init__(self, paths: Sequence[Path]) -> None:
        if len(paths) < 2:
            raise BadPath("there is nothing to compare with: two directories or more are needed")
        for path in paths:
            if not path.is_dir():
                raise BadPath(f"{path}: there is no such directory")
        found = _single(paths) if is_partition_directory(paths[0]) else _all(paths)
        if not found:
            raise BadPath(f"{paths[0]}: neither a partition's directory nor a data directory")
        self.partitions = [
            PartitionComparison(partition, replicas)
            for partition, replicas in sorted(found.items())
            if len(replicas) > 1
        ]
        self._alone = len(found) - len(self.partitions)

    def counts(self) -> dict[str, int]:
        """How much was compared, and how."""
        by_segments = sum(each.same_by == SEGMENTS for each in self.partitions)
        return {
            "partitions": len(self.partitions),
            "by_segments": by_segments,
            "by_batches": len(self.partitions) - by_segments,
            "of_one_replica": self._alone,
        }


def _all(paths: Sequence[Path]) -> dict[TopicPartition, list[Replica]]:
    found: dict[TopicPartition, list[Replica]] = {}
    for path in paths:
        for partition, replica in replicas_in(path).items():
            found.setdefault(partition, []).append(replica)
    return found


def _single(paths: Sequence[Path]) -> dict[TopicPartition, list[Replica]]:
    replicas = [Replica(path, str(path)) for path in paths]
    named = replicas[0].topic_partition or TopicPartition(paths[0].name, 0)
    return {named: replicas}
