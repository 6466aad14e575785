"""What brokers tell the controller by short-lived znodes: in-sync sets, data directories.

Below protocol 2.7 leaders write their in-sync sets themselves, and say afterwards which. A broker
that has lost a data directory only says so: told of its roles once more, it answers for each
partition whether it still has it. What has been dealt with is deleted.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from barnabas.server.controller.announcements import Announcements
from barnabas.server.controller.leading import Leading
from barnabas.server.controller.online import Key
from barnabas.server.controller.retried_events import RetriedEvents
from barnabas.server.observing.logs import Log
from barnabas.server.registry import notices
from barnabas.server.registry.changes import Changes, Notification
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.znodes.store import WatchEvent

T = TypeVar("T")


class Notified:
    """The notifications for one controller."""

    def __init__(
        self,
        leading: Leading,
        announcements: Announcements,
        isr_changes: Changes,
        log_dir_events: Changes,
        events: RetriedEvents,
        in_office: Callable[[], ControllerEpoch],
        log: Log,
    ) -> None:
        self._leading = leading
        self._announcements = announcements
        self._isr_changes = isr_changes
        self._log_dir_events = log_dir_events
        self._events = events
        self._in_office = in_office
        self._log = log

    async def look(self) -> None:
        """Deal with all there are, and watch for more."""
        await self._look_at_isr_changes()
        await self._look_at_log_dirs()

    async def _look_at_isr_changes(self) -> None:
        found = await self._isr_changes.read_all(self._isr_changed)
        keys: dict[Key, None] = {}
        for listed in self._decoded(found, notices.decode_partitions):
            keys.update(dict.fromkeys(listed))
        await self._leading.refresh(list(keys))
        await self._isr_changes.delete([each.number for each in found], self._in_office())

    async def _look_at_log_dirs(self) -> None:
        found = await self._log_dir_events.read_all(self._log_dir_failed)
        for broker_id in dict.fromkeys(self._decoded(found, notices.decode_log_dir_event)):
            self._log.info("a broker has lost a data directory", broker=broker_id)
            theirs = [each for each in self._leading.all_told() if broker_id in each.replicas]
            await self._announcements.give_roles(theirs, [broker_id])
        await self._log_dir_events.delete([each.number for each in found], self._in_office())

    def _decoded(self, found: Iterable[Notification], decode: Callable[[bytes], T]) -> Iterable[T]:
        for each in found:
            try:
                yield decode(each.body)
            except ValueError as error:
                self._log.error("a notification cannot be read", number=each.number, why=error)

    def _isr_changed(self, _: WatchEvent) -> None:
        self._events.put("look at in-sync sets that changed", self._look_at_isr_changes)

    def _log_dir_failed(self, _: WatchEvent) -> None:
        self._events.put("look at data directories that failed", self._look_at_log_dirs)
