"""Elections that somebody asks for: by ElectLeaders, by a znode, or by the clock.

Preferred: the first assigned replica leads, as long as it is in sync. Unclean: somebody leads what
nobody leads, in sync or not; only ElectLeaders may ask for that.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final

from barnabas.server.controller import elections
from barnabas.server.controller.control_messages import Told
from barnabas.server.controller.deletions import Deletions
from barnabas.server.controller.leading import Leading
from barnabas.server.controller.online import Key
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.server.registry.admin import AdminRequests
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.znodes.store import WatchEvent
from barnabas.wire.error_codes import ErrorCode

AT_ONCE: Final = 500  # between two batches other work gets its turn


class ElectionsOnRequest:
    """Those of one controller."""

    def __init__(
        self,
        leading: Leading,
        deletions: Deletions,
        admin: AdminRequests,
        events: RetriedEvents,
        in_office: Callable[[], ControllerEpoch],
        log: Log,
    ) -> None:
        self._leading = leading
        self._deletions = deletions
        self._admin = admin
        self._events = events
        self._in_office = in_office
        self._log = log

    async def hold(self, keys: Sequence[Key], *, is_unclean: bool) -> dict[Key, ApiError]:
        """Hold elections; why none was held, by partition: the others have a new leader.

        Raises ControllerMoved.
        """
        faults: dict[Key, ApiError] = {}
        needed: list[Key] = []
        for start in range(0, len(keys), AT_ONCE):
            for key in keys[start : start + AT_ONCE]:
                if (fault := self._fault(key, is_unclean)) is None:
                    needed.append(key)
                else:
                    faults[key] = fault
            await asyncio.sleep(0)
        decide = self._uncleanly if is_unclean else self._preferably
        held = await self._leading.change(needed, decide)
        missed = ApiError(
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
            if is_unclean
            else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        )
        faults.update({key: missed for key in needed if key not in held})
        return faults

    async def look(self) -> None:
        """Hold the elections that a tool has asked for by the znode, then remove that."""
        try:
            wanted = await self._admin.elections(self._changed)
        except ValueError as error:
            self._log.error("the wish for elections cannot be read", why=error)
            wanted = []
        if wanted is None:
            return
        faults = await self.hold(list(dict.fromkeys(wanted)), is_unclean=False)
        for (topic, index), fault in faults.items():
            self._log.warn("no election is held", topic=topic, partition=index, why=fault)
        await self._admin.delete_elections(self._in_office())

    async def rebalance(self, most_percent: int) -> None:
        """Have brokers lead what they are preferred for, where they lead too little of that."""
        preferred: dict[int, list[Told]] = {}
        for each in self._leading.all_told():
            preferred.setdefault(each.replicas[0], []).append(each)
        for broker_id, theirs in preferred.items():
            elsewhere = [each for each in theirs if each.state.leader != broker_id]
            if len(elsewhere) * 100 > most_percent * len(theirs):
                keys = [each.key for each in elsewhere]
                if moved := await self._leading.change(keys, self._preferably):
                    self._log.info("leads again", broker=broker_id, partitions=len(moved))

    def _changed(self, _: WatchEvent) -> None:
        self._events.put("hold the elections asked for", self.look)

    def _fault(self, key: Key, is_unclean: bool) -> ApiError | None:
        """Why there is nothing to elect."""
        known = self._leading.find(*key)
        if known is None:
            if self._deletions.has_begun(key[0]):
                return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted.")
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        leader = known.state.leader
        needed = leader not in self._leading.live if is_unclean else leader != known.replicas[0]
        if needed:
            return None
        return ApiError(
            ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        )

    def _preferably(self, known: Told, online: Collection[int]) -> PartitionState | None:
        if known.state.leader == known.replicas[0]:
            return None
        epoch = self._in_office().epoch
        return elections.preferred(known.state, known.replicas, online, epoch)

    def _uncleanly(self, known: Told, online: Collection[int]) -> PartitionState | None:
        if known.state.leader in self._leading.live:
            return None
        return self._leading.uncleanly(known.state, known.replicas, online)
