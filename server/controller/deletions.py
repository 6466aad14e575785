"""Topics on their way out: gone from every broker first, then from the registry.

A broker that holds replicas and does not live is waited for, as in Kafka: it would come back with
the logs. A mark in the registry is what makes a deletion; whatever cuts it short, it is begun
again from there, by the next controller if need be.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from barnabas.server.controller.announcements import Announcements
from barnabas.server.controller.control_messages import Told
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Log
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.topics import Topics
from barnabas.wire.error_codes import ErrorCode


@dataclass(slots=True)
class Deletion:
    """One topic's: `left` are the brokers that still hold some of it, `asked` those that know."""

    partitions: Sequence[Told]
    left: set[int]
    asked: set[int] = field(default_factory=set)


class Deletions:
    """The topics that are being deleted by one controller."""

    def __init__(
        self,
        own_id: int,
        topics: Topics,
        announcements: Announcements,
        events: RetriedEvents,
        in_office: Callable[[], ControllerEpoch],
        log: Log,
    ) -> None:
        """`in_office` raises ControllerMoved once the office is lost."""
        self._own_id = own_id
        self._topics = topics
        self._announcements = announcements
        self._events = events
        self._in_office = in_office
        self._log = log
        self._begun: dict[str, Deletion] = {}

    def has_begun(self, name: str) -> bool:
        """Whether a topic is being deleted."""
        return name in self._begun

    def forget(self) -> None:
        """The office is lost."""
        self._begun.clear()

    def brokers_gone(self, ids: Collection[int]) -> None:
        """What these were asked to do they may not have done."""
        for deletion in self._begun.values():
            deletion.asked.difference_update(ids)

    async def go_on(self, name: str, partitions: Sequence[Told]) -> None:
        """Bring a topic's deletion as far as it can be now.

        `partitions` is all that the topic has. Without the mark the topic has been deleted, by
        another controller or with an answer that was lost; one of its name is a new one.
        """
        epoch = self._in_office()
        if not await self._topics.is_marked_for_deletion(name):
            self._begun.pop(name, None)
            return
        deletion = self._begun.get(name)
        if deletion is None:
            deletion = Deletion(partitions, {each for told in partitions for each in told.replicas})
            self._begun[name] = deletion
            await self._announcements.show(
                partitions, self._announcements.live, deleted=frozenset({name})
            )
        await self._ask(name, deletion)
        if deletion.left:
            return
        await self._topics.delete(name, epoch)
        self._begun.pop(name, None)
        self._log.info("deleted topic", topic=name)

    async def _ask(self, name: str, deletion: Deletion) -> None:
        to: Iterable[int] = (deletion.left - deletion.asked) & self._announcements.live.keys()
        for broker_id in sorted(to):
            deletion.asked.add(broker_id)
            has_stopped = partial(self._has_stopped, name, deletion)
            await self._announcements.delete(deletion.partitions, [broker_id], has_stopped)

    def _has_stopped(self, name: str, deletion: Deletion, broker_id: int, code: ErrorCode) -> None:
        """A broker has deleted its replicas, or could not."""
        if self._begun.get(name) is not deletion:
            return
        again = partial(self.go_on, name, deletion.partitions)
        if code is not ErrorCode.NONE:
            deletion.asked.discard(broker_id)
            self._events.failed(f"delete topic {name}", again, ApiError(code))
            return
        deletion.left.discard(broker_id)
        if not deletion.left and broker_id != self._own_id:  # this one has been waited for
            self._events.put(f"delete topic {name}", again)
