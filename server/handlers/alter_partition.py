"""AlterPartition: a leader wants the in-sync set of its partitions changed.

* The controller alone decides; others answer NOT_CONTROLLER. STALE_BROKER_EPOCH for a leader that
  has registered anew since.
* A partition: FENCED_LEADER_EPOCH and INVALID_UPDATE_VERSION for a leader that knows less than the
  controller, NOT_CONTROLLER for one that knows more; INVALID_REQUEST for one that does not lead it
  or names a set of other brokers or without itself (Kafka with ZooKeeper would write that);
  OPERATION_NOT_ATTEMPTED, from v2 INELIGIBLE_REPLICA, if one of the set is not online.
* v1 the recovery state of a leader (KIP-704), v2 topics by id (KIP-841), v3 the replicas' broker
  epochs (KIP-903), which Kafka looks at only without ZooKeeper.
"""

from functools import partial

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

VERSIONS = Versions(0, 3)


async def handle(request: AlterPartitionRequest, context: RequestContext) -> AlterPartitionResponse:
    """Decide, in turn with the controller's other work.

    Raises ApiError CLUSTER_AUTHORIZATION_FAILED, NOT_CONTROLLER.
    """
    if not context.may(Operation.CLUSTER_ACTION, CLUSTER):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    controller, pauses = context.broker.controller, context.broker.turns.pauses()
    decide = controller.decisions.isr_changes.decide
    return await controller.in_turn(
        "change in-sync sets", partial(decide, request, context.api_version, pauses)
    )


def refuse(request: AlterPartitionRequest, code: ErrorCode) -> AlterPartitionResponse:
    """The whole answers the error."""
    return AlterPartitionResponse(error_code=int(code))
