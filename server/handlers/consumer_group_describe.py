"""ConsumerGroupDescribe: groups of the consumer protocol (KIP-848), of which there are none yet.

A classic group is no consumer group: GROUP_ID_NOT_FOUND, and clients go on to DescribeGroups.
"""

from barnabas.server.core.errors import ApiError, shortened
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)

VERSIONS = Versions(0, 1)


def handle(
    request: ConsumerGroupDescribeRequest, context: RequestContext
) -> Sliced[ConsumerGroupDescribeResponse]:
    """Every group is refused, with the reason."""
    return Sliced(_describe_all(request, context))


def _describe_all(
    request: ConsumerGroupDescribeRequest, context: RequestContext
) -> Steps[ConsumerGroupDescribeResponse]:
    groups = yield from each(request.group_ids, lambda name: _describe(name, context))
    return ConsumerGroupDescribeResponse(groups=groups)


def _describe(group_id: str, context: RequestContext) -> DescribedGroup:
    try:
        group = context.broker.groups.describe(group_id)
    except ApiError as error:
        return _refused(group_id, error.code, None)
    if group is None:
        return _refused(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    return _refused(
        group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group."
    )


def _refused(group_id: str, error: ErrorCode, message: str | None) -> DescribedGroup:
    return DescribedGroup(
        error_code=int(error),
        error_message=None if message is None else shortened(message),
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
    )


def refuse(request: ConsumerGroupDescribeRequest, code: ErrorCode) -> ConsumerGroupDescribeResponse:
    """Every group answers the error."""
    return ConsumerGroupDescribeResponse(
        groups=[_refused(group_id, code, None) for group_id in request.group_ids]
    )
