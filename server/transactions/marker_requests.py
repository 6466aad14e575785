"""One marker to the broker that leads its partitions: this one, or another.

Those for another go in one request with what else waits for that broker.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.peers.batches import Batches
from barnabas.server.peers.peers import Peers
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

VERSIONS = (0, 2)

AskItself = Callable[[WriteTxnMarkersRequest], Awaitable[WriteTxnMarkersResponse]]
"""Has this broker write markers. Raises Unanswered."""
Codes = Mapping[TopicPartition, ErrorCode]


class MarkerRequests:
    """Sends WriteTxnMarkers."""

    def __init__(self, broker_id: int, ask_itself: AskItself, peers: Peers) -> None:
        self._broker_id = broker_id
        self._ask_itself = ask_itself
        self._peers = peers
        # An answer tells markers apart by their producers.
        self._batches = Batches(self._ask_other, lambda marker: marker.producer_id)

    async def ask(self, leader_id: int, marker: WritableTxnMarker) -> Codes:
        """What became of a marker in each of its partitions. Raises Unanswered."""
        if leader_id != self._broker_id:
            return await self._batches.ask(leader_id, marker)
        response = await self._ask_itself(WriteTxnMarkersRequest(markers=[marker]))
        return codes_of(response).get(marker.producer_id, {})

    def stop(self) -> None:
        """Send nothing more."""
        self._batches.stop()
        self._peers.close()

    async def _ask_other(
        self, leader_id: int, markers: Sequence[WritableTxnMarker]
    ) -> Sequence[Codes]:
        request = WriteTxnMarkersRequest(markers=list(markers))
        codes = codes_of(await self._peers.send(leader_id, request, VERSIONS))
        return [codes.get(marker.producer_id, {}) for marker in markers]


def codes_of(response: WriteTxnMarkersResponse) -> dict[int, dict[TopicPartition, ErrorCode]]:
    """What an answer says, by producer."""
    found: dict[int, dict[TopicPartition, ErrorCode]] = {}
    for result in response.markers:
        codes = found.setdefault(result.producer_id, {})
        for topic in result.topics:
            for partition in topic.partitions:
                codes[topic.name, partition.partition_index] = code_in(partition.error_code)
    return found


def code_in(number: int) -> ErrorCode:
    """The error of another broker, which may be a newer one."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
