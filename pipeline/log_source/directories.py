"""Data directories, and which of them a partition is read from.

Several directories may hold the same partition: replicas on several brokers. It is read once, from
the one whose leader epoch is newest, and among those from the longest: that is the log which a
broker would become the leader with, and whose records every other replica comes to have. Among
equals it is the first one named.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from barnabas.pipeline.log_source.errors import LogSourceError
from barnabas.pipeline.log_source.options import ReadOptions
from barnabas.pipeline.log_source.partition_log import PartitionLog
from barnabas.pipeline.log_source.segment_files import READ_ONLY
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.meta_properties import read_meta_properties
from barnabas.storage.directory.partition_metadata import read_topic_id, topic_id_text
from barnabas.storage.directory_names import TopicPartition, parse_name
from barnabas.storage.errors import CorruptCheckpoint


@dataclass(frozen=True)
class Replica:
    """A partition's directory, with what the data directory's checkpoints say of it."""

    topic_partition: TopicPartition
    directory: str
    log_start: int
    high_watermark: int | None


def find_replicas(options: ReadOptions) -> dict[TopicPartition, list[Replica]]:
    """Of every partition that is asked for its directories; LogSourceError if one is missing."""
    found: dict[TopicPartition, list[Replica]] = {}
    for path in options.paths:
        for replica in _replicas_in(path, options):
            found.setdefault(replica.topic_partition, []).append(replica)
    _refuse_two_clusters(options.paths)
    _refuse_missing(options, found)
    return dict(sorted(found.items()))


def _replicas_in(path: str, options: ReadOptions) -> Iterator[Replica]:
    starts = _checkpoint(path, checkpoints.LOG_START)
    watermarks = _checkpoint(path, checkpoints.REPLICATION)
    try:
        names = sorted(READ_ONLY.list_directory(path))
    except OSError as error:
        raise LogSourceError(f"{path} is no directory to read: {error.strerror}") from None
    for name in names:
        parsed = parse_name(name)
        if parsed is None or parsed.suffix or not options.wants(parsed.topic_partition):
            continue
        known = parsed.topic_partition
        yield Replica(known, f"{path}/{name}", starts.get(known, 0), watermarks.get(known))


def _checkpoint(path: str, name: str) -> checkpoints.Offsets:
    with suppress(CorruptCheckpoint, OSError):  # a broker starts without it, too
        return checkpoints.read_offsets(READ_ONLY, f"{path}/{name}")
    return {}


def _refuse_two_clusters(paths: Iterable[str]) -> None:
    clusters: dict[str, str] = {}
    for path in paths:
        with suppress(CorruptCheckpoint, OSError):
            meta = read_meta_properties(READ_ONLY, path)
            if meta is not None and meta.cluster_id is not None:
                clusters.setdefault(meta.cluster_id, path)
    if len(clusters) > 1:
        places = " and ".join(f"{path} ({cluster})" for cluster, path in clusters.items())
        raise LogSourceError(f"the data directories are of several clusters: {places}")


def _refuse_missing(options: ReadOptions, found: dict[TopicPartition, list[Replica]]) -> None:
    where = " and ".join(options.paths)
    topics = {known.topic for known in found}
    for topic in options.topics or ():
        if topic not in topics:
            raise LogSourceError(f"there is no topic {topic} in {where}")
    for known in options.assigned or ():
        if known not in found:
            raise LogSourceError(f"there is no partition {known} in {where}")


def choose_log(replicas: Sequence[Replica]) -> tuple[PartitionLog, Replica]:
    """The log that is read; LogSourceError if the directories are of different topics."""
    ids = {each.directory: _topic_id(each.directory) for each in replicas}
    known = {topic_id: directory for directory, topic_id in ids.items() if topic_id}
    if len(known) > 1:
        places = " and ".join(f"{directory} ({name})" for name, directory in known.items())
        raise LogSourceError(
            f"{replicas[0].topic_partition} is of several topics with the same name: {places};"
            " read their data directories one by one"
        )
    logs = [
        (PartitionLog(each.directory, each.topic_partition, each.log_start), each)
        for each in replicas
    ]
    return max(logs, key=lambda pair: (pair[0].last_epoch, pair[0].end))


def _topic_id(directory: str) -> str | None:
    with suppress(CorruptCheckpoint):
        topic_id = read_topic_id(READ_ONLY, directory)
        return None if topic_id is None else topic_id_text(topic_id)
    return None
