"""JoinGroup: become a member, and wait for the generation.

* v0: one timeout for session and rebalance; v1 splits them (KIP-62).
* v4: a dynamic member without an id is sent back with one, MEMBER_ID_REQUIRED (KIP-394).
* v5: static members (KIP-345). v7: protocol type; the protocol name may be null (KIP-559).
* v9: a static leader that restarts is told to skip the assignment (KIP-814).
"""

from collections.abc import Coroutine
from typing import Any, Final

from barnabas.server.coordinators.first_use import after_creation, is_first_use
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.groups.joining import JoinAttempt
from barnabas.server.groups.responses import join_refused
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

VERSIONS = Versions(0, 9)
MOST_PROTOCOLS: Final = (
    1_000  # clients offer a handful; each member's are compared with all others'
)
NULLABLE_PROTOCOL_SINCE: Final = 7
Answer = JoinGroupResponse | Deferred[JoinGroupResponse]


def handle(
    request: JoinGroupRequest, context: RequestContext
) -> Answer | Coroutine[Any, Any, JoinGroupResponse]:
    """Join; answered when the rebalance is over."""
    if is_first_use(context.broker.metadata, OFFSETS_TOPIC):
        broker = context.broker
        return after_creation(
            broker.topics, OFFSETS_TOPIC, lambda: _join(request, context), broker.log
        )
    return _join(request, context)


def _join(request: JoinGroupRequest, context: RequestContext) -> Answer:
    is_old = context.api_version < NULLABLE_PROTOCOL_SINCE
    if len(request.protocols) > MOST_PROTOCOLS:
        return refuse(request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    deferred = _NeverNull() if is_old else Deferred[JoinGroupResponse]()
    try:
        answer = context.broker.groups.join(_attempt(request, context, deferred))
    except ApiError as error:
        answer = join_refused(request.member_id, error.code)
    if is_old and isinstance(answer, JoinGroupResponse):
        _without_null(answer)
    return answer


class _NeverNull(Deferred[JoinGroupResponse]):
    """The answer to a version that has no null for "no protocol"."""

    __slots__ = ()

    def give(self, response: JoinGroupResponse) -> None:
        super().give(_without_null(response))


def _without_null(response: JoinGroupResponse) -> JoinGroupResponse:
    response.protocol_name = response.protocol_name or ""
    return response


def _attempt(
    request: JoinGroupRequest, context: RequestContext, deferred: Deferred[JoinGroupResponse]
) -> JoinAttempt:
    version = context.api_version
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if version == 0 or rebalance_timeout_ms < 0:
        rebalance_timeout_ms = request.session_timeout_ms
    return JoinAttempt(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        client_id=context.header.client_id or "",
        client_host=f"/{context.connection.peer_host}",
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, bytes(each.metadata)) for each in request.protocols),
        must_know_member_id=version >= 4 and request.group_instance_id is None,
        may_skip_assignment=version >= 9,
        deferred=deferred,
    )


def refuse(request: JoinGroupRequest, code: ErrorCode) -> JoinGroupResponse:
    """The error, with the id that the member came with."""
    return _without_null(join_refused(request.member_id, code))
