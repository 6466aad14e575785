"""Which replicas may lead and be in sync: their broker lives, is not stopping, and has the disk."""

from collections.abc import Collection, Iterable
from typing import TypeAlias

Key: TypeAlias = tuple[str, int]
"""A partition: (topic, index)."""


class OnlineReplicas:
    """What one controller knows of that; all of it is learned anew by the next one."""

    def __init__(self) -> None:
        self.electable: frozenset[int] = frozenset()
        """Brokers as far as their registrations have been looked into."""
        self.stopping: frozenset[int] = frozenset()
        """Live brokers that have asked to be relieved, until their registrations end."""
        self._failed: dict[int, frozenset[Key]] = {}

    def brokers_of(self, key: Key) -> frozenset[int]:
        """The brokers whose replica of a partition, if they have one, is online."""
        brokers = self.electable - self.stopping
        lost = [broker_id for broker_id, failed in self._failed.items() if key in failed]
        return brokers.difference(lost) if lost else brokers

    def note(self, broker_id: int, failed: Iterable[Key], sound: Iterable[Key]) -> frozenset[Key]:
        """Take in what a broker says of its disks' partitions; those that have failed newly."""
        before = self._failed.get(broker_id, frozenset())
        now = (before - frozenset(sound)) | frozenset(failed)
        if now:
            self._failed[broker_id] = now
        else:
            self._failed.pop(broker_id, None)
        return now - before

    def stop(self, broker_id: int) -> None:
        """A broker wants to lead no more."""
        self.stopping |= {broker_id}

    def forget(self, brokers: Collection[int]) -> None:
        """These have gone, or begin a new life."""
        self.stopping -= frozenset(brokers)
        for broker_id in brokers:
            self._failed.pop(broker_id, None)

    def clear(self) -> None:
        """Know nothing any more."""
        self.electable = self.stopping = frozenset()
        self._failed.clear()
