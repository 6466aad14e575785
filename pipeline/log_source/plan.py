"""From options to pieces: what is read of each partition, on the driver.

A read sees a partition as its files are now, up to its last whole batch (or the high watermark
that the broker noted last), and with read_committed up to its last stable offset.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from barnabas.pipeline.log_source.directories import Replica, choose_log, find_replicas
from barnabas.pipeline.log_source.errors import LogSourceError, LostRecords
from barnabas.pipeline.log_source.options import EARLIEST, LATEST, Bound, ReadOptions
from barnabas.pipeline.log_source.partition_log import PartitionLog
from barnabas.pipeline.log_source.pieces import Piece, pack, pieces_of, split
from barnabas.pipeline.log_source.transactions import Decisions, decisions
from barnabas.storage.directory_names import TopicPartition


def plan(options: ReadOptions) -> list[list[Piece]]:
    """The pieces of each Spark task, partition by partition and in the order of offsets."""
    replicas = find_replicas(options)
    for bound in (options.start, options.end):
        _refuse_other_partitions(bound, set(replicas))
    found: list[Piece] = []
    for places in replicas.values():
        found += _pieces(options, places)
    most_bytes = options.partition_bytes
    if options.min_partitions:
        total = sum(piece.size_bytes for piece in found)
        most_bytes = max(1, min(most_bytes, -(-total // options.min_partitions)))
    return pack((part for piece in found for part in split(piece, most_bytes)), most_bytes)


def _refuse_other_partitions(bound: Bound, known: set[TopicPartition]) -> None:
    """Kafka's source wants to be told of all partitions or of none, and so does this one."""
    if bound.by_partition is None or bound.by_partition.keys() == known:
        return
    differing = sorted(str(each) for each in bound.by_partition.keys() ^ known)
    raise LogSourceError(
        f"option {bound.option} has to name exactly the partitions that are read;"
        f" these are in one and not in the other: {', '.join(differing)}"
    )


def _pieces(options: ReadOptions, places: Sequence[Replica]) -> Iterator[Piece]:
    log, replica = choose_log(places)
    end = log.end
    if options.to_high_watermark and replica.high_watermark is not None:
        end = min(end, replica.high_watermark)
    decided = Decisions(end, ())
    if options.is_committed_only:
        decided = decisions(log, end)
    stable = max(decided.last_stable_offset, log.start)
    start, end = _range(options, log, stable)
    if not options.fail_on_data_loss:
        start, end = max(start, log.start), min(end, stable)
    elif start < end:
        _refuse_what_is_not_there(log, start, end, stable)
    for piece in pieces_of(log, start, end):
        yield replace(piece, aborted=decided.of(piece.start_offset, piece.end_offset))


def _range(options: ReadOptions, log: PartitionLog, stable: int) -> tuple[int, int]:
    start = _resolve(options.start, log, stable)
    if start is None:
        if not options.unmatched_time_is_latest:
            time = options.start.of(log.topic_partition)
            raise LogSourceError(
                f"{log.topic_partition} has no record of time {time} or later, where"
                f" {options.start.option} begins; startingOffsetsByTimestampStrategy=latest"
                " reads none of it"
            )
        start = stable
    end = _resolve(options.end, log, stable)
    return start, stable if end is None else end


def _resolve(bound: Bound, log: PartitionLog, stable: int) -> int | None:
    """The offset that a bound means; None if there is no record of its time."""
    value = bound.of(log.topic_partition)
    if bound.is_time:
        found = log.offset_at_time(value)
        return found if found is not None and found < stable else None
    return {EARLIEST: log.start, LATEST: stable}.get(value, value)


def _refuse_what_is_not_there(log: PartitionLog, start: int, end: int, stable: int) -> None:
    name = str(log.topic_partition)
    if start < log.start:
        raise LostRecords(name, start, min(log.start, end), f"the log starts at {log.start}")
    if end > stable:
        raise LostRecords(name, max(start, stable), end, f"the log ends at {stable}")
