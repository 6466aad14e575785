"""Which transactions a compaction pass has seen data of, so that it knows which markers matter.

Records of an aborted transaction are dropped as the pass comes by. A marker is kept while any
batch of its transaction still stands before it; once none does, the marker may go too, after
its delete horizon. Source: Kafka's CleanedTransactionMetadata (KIP-98, KIP-534).
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from barnabas.storage.batch.control_records import ControlType
from barnabas.storage.segment.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Follows the batches of a log in offset order."""

    def __init__(self, keep: Callable[[AbortedTransaction], None]) -> None:
        """`keep` is told each aborted transaction whose marker must stay findable."""
        self._keep = keep
        self._upcoming: list[tuple[int, int, AbortedTransaction]] = []
        self._seen: set[AbortedTransaction] = set()
        self._aborted: dict[int, AbortedTransaction] = {}
        self._has_data: set[int] = set()
        self._committed: set[int] = set()

    def expect(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Announce aborted transactions of the stretch that comes next."""
        for transaction in aborted:
            if transaction not in self._seen:
                self._seen.add(transaction)
                entry = (transaction.first_offset, transaction.producer_id, transaction)
                heappush(self._upcoming, entry)

    def is_aborted(self, producer_id: int, last_offset: int) -> bool:
        """Take note of a transactional data batch; was its transaction aborted?"""
        self._begin_up_to(last_offset)
        if producer_id in self._aborted:
            self._has_data.add(producer_id)
            return True
        self._committed.add(producer_id)
        return False

    def is_marker_needless(
        self, producer_id: int, last_offset: int, control_type: int | None
    ) -> bool:
        """Take note of a control batch; has all data of its transaction gone?

        `control_type` is None for a batch that an earlier pass emptied.
        """
        self._begin_up_to(last_offset)
        if control_type is None:
            return True
        if control_type == ControlType.COMMIT:
            had_data = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_data
        return control_type == ControlType.ABORT and self._end_aborted(producer_id)

    def _end_aborted(self, producer_id: int) -> bool:
        transaction = self._aborted.pop(producer_id, None)
        had_data = producer_id in self._has_data
        self._has_data.discard(producer_id)
        if transaction is None or not had_data:
            return True
        self._keep(transaction)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._upcoming and self._upcoming[0][0] <= offset:
            _, producer_id, transaction = heappop(self._upcoming)
            self._aborted.setdefault(producer_id, transaction)
