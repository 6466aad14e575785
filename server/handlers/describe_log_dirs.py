"""DescribeLogDirs: what lies in this broker's data directories, and their space.

* Null topics mean all; otherwise only the partitions named. A directory that has failed answers
  KAFKA_STORAGE_ERROR and lists nothing.
* The lag of a log is what a follower has not fetched of the high watermark yet, that of a future
  one (KIP-113) what it still has to copy; -1 where the partition is not served.
* v4: space of the volume (KIP-827).
"""

from pathlib import Path

from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.server.requests.context import RequestContext
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

VERSIONS = Versions(0, 5)
Wanted = set[tuple[str, int]] | None
UNKNOWN_LAG = -1


def handle(
    request: DescribeLogDirsRequest, context: RequestContext
) -> Sliced[DescribeLogDirsResponse]:
    """Describe every directory."""
    return Sliced(_describe_all(request, context))


def _describe_all(
    request: DescribeLogDirsRequest, context: RequestContext
) -> Steps[DescribeLogDirsResponse]:
    wanted: Wanted = None
    if request.topics is not None:
        wanted = set()
        for topic in request.topics:
            wanted.update((topic.topic, index) for index in topic.partitions)
            yield
    response = DescribeLogDirsResponse()
    # As they are at one moment: a log may move to another directory between two steps.
    found = [_Found(each) for each in context.broker.disks.directories]
    for each in found:
        response.results.append((yield from _describe(each, wanted, context.broker.replicas)))
    return response


class _Found:
    """What lies in a directory."""

    def __init__(self, directory: DataDirectory) -> None:
        self.directory = directory
        self.logs = directory.all_logs()
        self.futures = set(directory.future_logs.values())


def _describe(found: _Found, wanted: Wanted, replicas: Replicas) -> Steps[DescribeLogDirsResult]:
    directory = found.directory
    result = DescribeLogDirsResult(log_dir=str(Path(directory.path).absolute()))
    if directory.is_online:
        try:
            result.total_bytes, result.usable_bytes = directory.space_bytes()
        except OSError as error:
            directory.fail(error)
    if directory.is_online:
        result.topics = yield from _topics(found, wanted, replicas)
    else:
        result.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
    return result


def _topics(found: _Found, wanted: Wanted, replicas: Replicas) -> Steps[list[DescribeLogDirsTopic]]:
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for log in found.logs:
        yield
        topic, index = log.partition
        if wanted is None or (topic, index) in wanted:
            is_future = log in found.futures
            topics.setdefault(topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=index,
                    partition_size=log.size_bytes,
                    offset_lag=_lag(log, replicas.find(topic, index), is_future),
                    is_future_key=is_future,
                )
            )
    return [DescribeLogDirsTopic(name=name, partitions=topics[name]) for name in topics]


def _lag(log: ManagedLog, partition: Partition | None, is_future: bool) -> int:
    """How many offsets a log is behind its partition's."""
    if partition is None:
        return UNKNOWN_LAG
    if is_future:
        return partition.log.log_end_offset - log.log_end_offset
    return max(0, log.high_watermark - log.log_end_offset)
