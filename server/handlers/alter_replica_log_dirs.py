"""AlterReplicaLogDirs: where this broker's replicas are to lie (KIP-113).

* The answer says that a move has begun, or that there is none to be made; DescribeLogDirs tells
  how far it is. A move to where the replica lies cancels one that is under way.
* A path that is no data directory of this broker: LOG_DIR_NOT_FOUND; a failed one, or any failed
  one while a move is to begin: KAFKA_STORAGE_ERROR.
* A replica that is not here yet will be made there: REPLICA_NOT_AVAILABLE, or
  UNKNOWN_TOPIC_OR_PARTITION for a topic that is not known.
"""

from functools import partial
from pathlib import Path

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
    """Begin the moves that are wanted."""
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
    return context.broker.moves.alter(topic, index, _directory(path, context))


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
