"""One marker to the broker that leads its partitions: this one, or another."""

from collections.abc import Awaitable, Callable, Mapping

from barnabas.server.core.errors import Unanswered
from barnabas.server.transactions.markers import TopicPartition
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

AskItself = Callable[[WriteTxnMarkersRequest], Awaitable[WriteTxnMarkersResponse]]
"""Has this broker write markers. Raises Unanswered."""


class MarkerRequests:
    """Sends WriteTxnMarkers."""

    def __init__(self, broker_id: int, ask_itself: AskItself) -> None:
        self._broker_id = broker_id
        self._ask_itself = ask_itself

    async def ask(
        self, leader_id: int, marker: WritableTxnMarker
    ) -> Mapping[TopicPartition, ErrorCode]:
        """What became of a marker in each of its partitions. Raises Unanswered."""
        if leader_id != self._broker_id:
            raise Unanswered(f"broker {leader_id} cannot be asked yet")
        response = await self._ask_itself(WriteTxnMarkersRequest(markers=[marker]))
        return codes_of(response, marker.producer_id)


def codes_of(
    response: WriteTxnMarkersResponse, producer_id: int
) -> dict[TopicPartition, ErrorCode]:
    """What an answer says of one producer's partitions."""
    return {
        (topic.name, partition.partition_index): ErrorCode(partition.error_code)
        for result in response.markers
        if result.producer_id == producer_id
        for topic in result.topics
        for partition in topic.partitions
    }
