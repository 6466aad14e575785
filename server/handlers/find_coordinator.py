"""FindCoordinator: which broker coordinates a group or a transactional id.

* v1: transactional ids as well as groups, an error message ("NONE" on success). v4: several keys
  (KIP-699), whose messages are empty but for a type that nobody knows.
  v6: share groups' keys (KIP-932), which are refused: INVALID_REQUEST.
* The first question for a group makes __consumer_offsets, the first for a transactional id
  __transaction_state; if that fails or takes too long: COORDINATOR_NOT_AVAILABLE.
"""

from collections.abc import Coroutine
from typing import Any

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

VERSIONS = Versions(0, 6)
Answer = FindCoordinatorResponse | Sliced[FindCoordinatorResponse]
GROUP, TRANSACTION, SHARE = 0, 1, 2
TOPICS = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTION_TOPIC}
MESSAGES: dict[int, str] = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "There is no coordinator of this type.",
}


def handle(
    request: FindCoordinatorRequest, context: RequestContext
) -> Answer | Coroutine[Any, Any, Answer]:
    """Answer at once, or make the topic first."""
    broker, topic = context.broker, TOPICS.get(request.key_type)
    if request.key_type == GROUP:
        broker.groups.expect_members()
    elif request.key_type == TRANSACTION:
        broker.transactions.expect_producers()
    if topic is not None and is_first_use(broker.metadata, topic):
        return after_creation(broker.topics, topic, lambda: _answer(request, context), broker.log)
    return _answer(request, context)


def _answer(request: FindCoordinatorRequest, context: RequestContext) -> Answer:
    if context.api_version >= 4:
        return Sliced(_find_all(request, context))
    found = _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=MESSAGES.get(found.error_code, ""),
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find_all(
    request: FindCoordinatorRequest, context: RequestContext
) -> Steps[FindCoordinatorResponse]:
    coordinators = yield from each(
        request.coordinator_keys, lambda key: _find(key, request.key_type, context)
    )
    return FindCoordinatorResponse(coordinators=coordinators)


def _find(key: str, key_type: int, context: RequestContext) -> Coordinator:
    try:
        return _coordinator_of(key, key_type, context)
    except ApiError as error:
        message = "" if key_type in (GROUP, TRANSACTION, SHARE) else MESSAGES.get(error.code, "")
        code = int(error.code)
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message
        )


def _coordinator_of(key: str, key_type: int, context: RequestContext) -> Coordinator:
    broker = context.broker
    if key_type == GROUP:
        where = (OFFSETS_TOPIC, broker.groups.partition_of(key))
    elif key_type == TRANSACTION:
        where = (TRANSACTION_TOPIC, broker.transactions.partition_of(key))
    else:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    metadata = broker.metadata
    partition = metadata.partition(*where)
    endpoint = metadata.leader_endpoint(partition, context.listener_name) if partition else None
    if partition is None or endpoint is None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=key, node_id=partition.leader_id, host=endpoint.host, port=endpoint.port)


def refuse(request: FindCoordinatorRequest, code: ErrorCode) -> FindCoordinatorResponse:
    """Every key answers the error."""
    return FindCoordinatorResponse(
        error_code=int(code),
        node_id=-1,
        port=-1,
        coordinators=[
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=int(code))
            for key in request.coordinator_keys
        ],
    )
