"""WriteTxnMarkers: a transaction coordinator makes known that transactions have ended (KIP-98).

* For each marker and partition: the batch is written, safe on all in-sync replicas, and offsets of
  the transaction have taken effect; or the error. Waits for replicas `request.timeout.ms`.
* A partition that is not online here is UNKNOWN_TOPIC_OR_PARTITION, wherever it may be; one that
  is followed here NOT_LEADER_OR_FOLLOWER. An older epoch of the producer is answered
  INVALID_PRODUCER_EPOCH, an older coordinator TRANSACTION_COORDINATOR_FENCED.
* It takes ALTER or CLUSTER_ACTION on the cluster: also `kafka-transactions --abort` sends it.
* v2 says the transactions version, which decides how epochs are compared (KIP-890, KIP-1228).
"""

from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import CLUSTER, Operation
from barnabas.server.requests.context import RequestContext
from barnabas.server.transactions.marker_log import refuse_markers
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

VERSIONS = Versions(0, 2)


def handle(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> Sliced[Deferred[WriteTxnMarkersResponse]]:
    """Write the markers. Raises ApiError."""
    if not (
        context.may(Operation.ALTER, CLUSTER) or context.may(Operation.CLUSTER_ACTION, CLUSTER)
    ):
        raise ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return Sliced(context.broker.local_markers.write(request))


refuse = refuse_markers
