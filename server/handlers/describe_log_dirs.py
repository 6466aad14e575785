"""DescribeLogDirs: what lies in this broker's data directories, and their space.

* Null topics mean all; otherwise only the partitions named. A directory that has failed answers
  KAFKA_STORAGE_ERROR and lists nothing.
* Logs are never copied between directories here, so none is a future one, and their lag is what
  a follower has not fetched of the high watermark yet. v4: space of the volume (KIP-827).
"""

from pathlib import Path

from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.storage.manager.data_directory import DataDirectory
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
    for directory in context.broker.disks.directories:
        response.results.append((yield from _describe(directory, wanted)))
    return response


def _describe(directory: DataDirectory, wanted: Wanted) -> Steps[DescribeLogDirsResult]:
    result = DescribeLogDirsResult(log_dir=str(Path(directory.path).absolute()))
    if directory.is_online:
        try:
            result.total_bytes, result.usable_bytes = directory.space_bytes()
        except OSError as error:
            directory.fail(error)
    if directory.is_online:
        result.topics = yield from _topics(directory, wanted)
    else:
        result.error_code = int(ErrorCode.KAFKA_STORAGE_ERROR)
    return result


def _topics(directory: DataDirectory, wanted: Wanted) -> Steps[list[DescribeLogDirsTopic]]:
    found: dict[str, list[DescribeLogDirsPartition]] = {}
    for (topic, index), log in tuple(directory.logs.items()):
        yield
        if wanted is None or (topic, index) in wanted:
            found.setdefault(topic, []).append(
                DescribeLogDirsPartition(
                    partition_index=index,
                    partition_size=log.size_bytes,
                    offset_lag=max(0, log.high_watermark - log.log_end_offset),
                    is_future_key=False,
                )
            )
    return [DescribeLogDirsTopic(name=name, partitions=found[name]) for name in found]
