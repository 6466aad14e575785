"""AlterReplicaLogDirs: answered, but no replica is ever moved between directories here.

A replica that lies where the request wants it is fine. A path that is no data directory of this
broker is LOG_DIR_NOT_FOUND, a failed one KAFKA_STORAGE_ERROR, as in Kafka; a move to any other
directory is OPERATION_NOT_ATTEMPTED, which Kafka would carry out.
"""

from functools import partial
from pathlib import Path

from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

VERSIONS = Versions(0, 2)


def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext
) -> Sliced[AlterReplicaLogDirsResponse]:
    """Say for every replica why it stays where it is."""
    return Sliced(_answer_all(request, context))


def _answer_all(
    request: AlterReplicaLogDirsRequest, context: RequestContext
) -> Steps[AlterReplicaLogDirsResponse]:
    response = AlterReplicaLogDirsResponse()
    for wanted in request.dirs:
        yield
        for topic in wanted.topics:
            answer = partial(_answer, wanted.path, topic.name, context)
            partitions = yield from each(topic.partitions, answer)
            result = AlterReplicaLogDirTopicResult(topic_name=topic.name, partitions=partitions)
            response.results.append(result)
    return response


def _answer(
    path: str, topic: str, context: RequestContext, index: int
) -> AlterReplicaLogDirPartitionResult:
    code = _outcome(path, topic, index, context)
    return AlterReplicaLogDirPartitionResult(partition_index=index, error_code=int(code))


def _outcome(path: str, topic: str, index: int, context: RequestContext) -> ErrorCode:
    directory = _directory(path, context)
    if directory is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if not directory.is_online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    try:
        partition = context.broker.replicas.require(topic, index)
    except ApiError as error:
        return error.code
    if partition.log.data_directory is directory:
        return ErrorCode.NONE
    return ErrorCode.OPERATION_NOT_ATTEMPTED


def _directory(path: str, context: RequestContext) -> DataDirectory | None:
    """The data directory of a path; paths are absolute, as DescribeLogDirs tells them."""
    for directory in context.broker.disks.directories:
        if Path(directory.path).absolute() == Path(path):
            return directory
    return None


def refuse(request: AlterReplicaLogDirsRequest, code: ErrorCode) -> AlterReplicaLogDirsResponse:
    """Every replica answers the error."""
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=index, error_code=int(code))
                    for index in topic.partitions
                ],
            )
            for wanted in request.dirs
            for topic in wanted.topics
        ]
    )
