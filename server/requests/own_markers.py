"""WriteTxnMarkers of this broker to itself, for the partitions that it leads."""

from barnabas.server.requests.direct import DirectCalls, Tested
from barnabas.server.requests.services import Services
from barnabas.server.transactions.marker_log import refuse_markers
from barnabas.server.transactions.marker_requests import AskItself
from barnabas.wire.api import ApiKey
from barnabas.wire.messages.write_txn_markers import (
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

VERSION = 2


def ask_itself_for_markers(services: Services, tested: Tested) -> AskItself:
    """What has the broker write markers, seen and disturbed by tests as any request is."""
    direct = DirectCalls(services, tested)
    client_id = f"broker-{services.broker_id}-txn-marker-sender"

    async def ask_itself(request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        return await direct.call(
            ApiKey.WRITE_TXN_MARKERS, VERSION, client_id, request,
            services.local_markers.serve, refuse_markers,
        )  # fmt: skip

    return ask_itself
