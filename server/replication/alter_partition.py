"""Having changes of in-sync sets agreed on, for the partitions that this broker leads.

One request is under way at a time, with everything that waits: what comes meanwhile goes in the
next. A change is repeated until it has been decided, or is not wanted any more because the
controller has said something newer. Which way it goes is up to the protocol between brokers: from
2.7 on the controller decides (AlterPartition), before that the leader writes to the registry.

Source: Kafka's AlterPartitionManager.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from barnabas.server.core.awaiting import Backoff, pause
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered, is_expected
from barnabas.server.observing.logs import Log
from barnabas.server.replication.isr_states import NOT_APPLIED, IsrChange
from barnabas.server.replication.partition import Partition
from barnabas.wire.error_codes import ErrorCode

AGAIN_MS: Final = 50.0
LONGEST_PAUSE_MS: Final = 1_000.0
MOST_AT_ONCE: Final = 1_000
"""Changes in one request."""

Key: TypeAlias = tuple[str, int]


class Agreed(NamedTuple):
    """What a partition's state is, in the registry, after a change."""

    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int


Decided: TypeAlias = Agreed | ErrorCode
Decide: TypeAlias = Callable[[Sequence[IsrChange]], Awaitable[Mapping[Key, Decided]]]
"""Has changes decided; what is not in the answer has not been. Raises Unanswered."""


class IsrChanges:
    """The changes that one broker wants."""

    def __init__(
        self,
        decide: Decide,
        find: Callable[[str, int], Partition | None],
        on_moved: Callable[[Key], object],
        clock: Clock,
        log: Log,
    ) -> None:
        """`on_moved` hears of partitions of which more is committed by a change."""
        self._decide = decide
        self._find = find
        self._on_moved = on_moved
        self._clock = clock
        self._log = log
        self._wanted: dict[Key, IsrChange] = {}
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    def submit(self, change: IsrChange) -> None:
        """Have a change decided; one of the same partition that still waits is out of date."""
        self._wanted[change.key] = change
        if self._task is None and not self._is_stopped:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Ask for nothing more."""
        self._is_stopped = True
        self._wanted.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            while batch := self._next():
                await self._until_decided(batch)
        finally:
            self._task = None

    def _next(self) -> list[IsrChange]:
        """What is still wanted, as much as goes into one request."""
        for key, change in list(self._wanted.items()):
            partition = self._find(*key)
            if partition is None or not partition.waits_for(change):
                del self._wanted[key]
        return list(self._wanted.values())[:MOST_AT_ONCE]

    async def _until_decided(self, batch: list[IsrChange]) -> None:
        backoff = Backoff(self._clock, AGAIN_MS, LONGEST_PAUSE_MS)
        while batch:
            try:
                is_agreed = self._take(batch, await self._decide(batch))
            except Exception as error:
                if not isinstance(error, Unanswered) and not is_expected(error):
                    self._log.unexpected("in-sync sets could not be changed", error)
                elif backoff.failures == 0:
                    self._log.warn("in-sync sets are not changed yet", error=error)
                await backoff.wait()
                batch = self._next()
                continue
            if not is_agreed:
                await pause(self._clock, AGAIN_MS)
            return

    def _take(self, batch: Sequence[IsrChange], decided: Mapping[Key, Decided]) -> bool:
        """Tell the partitions; whether all is agreed.

        After a refusal nothing is asked for a while: a replica that may not join goes on to fetch,
        and each of its fetches has its leader ask again.
        """
        is_agreed = True
        for change in batch:
            decision = decided.get(change.key)
            partition = self._find(*change.key)
            is_agreed = is_agreed and isinstance(decision, Agreed)
            if decision is not None and partition is not None:
                if self._tell(partition, change, decision):
                    decision = None
            if decision is not None and self._wanted.get(change.key) is change:
                del self._wanted[change.key]
        return is_agreed

    def _tell(self, partition: Partition, change: IsrChange, decision: Decided) -> bool:
        """Whether it is to be asked for again."""
        topic, index = change.key
        if isinstance(decision, Agreed):
            before = partition.isr
            moved = partition.isr_agreed(change, *decision)
            self._log.info(
                "the in-sync set has changed", topic=topic, partition=index,
                before=_listed(before), now=_listed(partition.isr),
                partition_epoch=partition.partition_epoch,
            )  # fmt: skip
            if moved:
                self._on_moved(change.key)
            return False
        say = self._log.debug if decision in NOT_APPLIED else self._log.info
        say(
            "a change of the in-sync set was refused", topic=topic, partition=index,
            wanted=_listed(change.isr), error=decision.name,
        )  # fmt: skip
        return partition.isr_refused(change, decision)


def _listed(isr: Sequence[int]) -> str:
    return ",".join(map(str, isr))
