"""Partitions whose log's end lies outside of their leader's log, as it said.

    ours ends behind the leader's      it was led elsewhere, uncleanly: cut to the leader's end
    ours ends before it begins         its records have been deleted there: begin anew
    else                               it was so for a moment: ask again

All of an answer are asked about together. Source: AbstractFetcherThread.fetchOffsetAndTruncate.
"""

from collections.abc import Sequence

from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.replication.fetching.followed import Followed
from barnabas.server.replication.fetching.leader import EARLIEST, LATEST, Leader
from barnabas.server.replication.fetching.outcomes import Outcomes
from barnabas.server.replication.fetching.table import FollowedTable
from barnabas.wire.error_codes import ErrorCode


class OutOfRange:
    """Brings partitions back into the range of one leader."""

    def __init__(self, leader: Leader, table: FollowedTable, outcomes: Outcomes) -> None:
        self._leader = leader
        self._table = table
        self._outcomes = outcomes

    async def mend(self, followed: Sequence[Followed]) -> None:
        """Let each go on where it can be fetched from. Raises Unanswered."""
        latest = await self._offsets(followed, LATEST)
        rest = []
        for each in followed:
            if (end := latest.get(each.key)) is None:
                continue
            if end < each.partition.log.log_end_offset:
                self._outcomes.cut_to_end(each, end)
            else:
                rest.append(each)
        if rest:
            earliest = await self._offsets(rest, EARLIEST)
            for each in rest:
                if (start := earliest.get(each.key)) is not None:
                    self._outcomes.start_at(each, start)

    async def _offsets(
        self, followed: Sequence[Followed], timestamp: int
    ) -> dict[TopicPartition, int]:
        """The leader's; without partitions that it refuses, or that are followed no longer."""
        found = await self._leader.offsets(followed, timestamp)
        good = {}
        for each in followed:
            offset = found.get(each.key, ErrorCode.UNKNOWN_SERVER_ERROR)
            if not self._table.holds(each):
                continue
            if isinstance(offset, ErrorCode):
                self._outcomes.refused(each, offset)
            else:
                good[each.key] = offset
        return good
