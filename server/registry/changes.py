"""Change notifications: sequential znodes that tell other brokers what to read again.

A writer adds a znode under the parent; readers watch the parent's children and look at the
numbers they have not seen. Config changes are read by every broker and purged once they are
fifteen minutes old; ISR changes and log directory events are for the controller, which deletes
what it has read.
"""

import contextlib
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.server.registry import paths
from barnabas.server.registry.controller import ControllerEpoch, raise_if_moved
from barnabas.server.registry.znodes.store import (
    Delete,
    NodeExists,
    NoNode,
    Watch,
    Znode,
    ZnodeError,
    ZnodeStore,
)

PURGE_AFTER_MS = 15 * 60 * 1000
_NONE_SEEN = -1


class Notification(NamedTuple):
    """One change: its number, its body, and when it was written."""

    number: int
    body: bytes
    ctime_ms: int


class Changes:
    """The notifications under one parent, such as /config/changes/config_change_<number>."""

    def __init__(self, store: ZnodeStore, parent: str, prefix: str) -> None:
        self._store = store
        self._parent = parent
        self._prefix = prefix
        self._last_seen = _NONE_SEEN

    async def add(self, body: bytes) -> int:
        """Tell of a change; returns its number."""
        path = paths.sequential(self._parent, self._prefix)
        try:
            created = await self._store.create(path, body, sequential=True)
        except NoNode:
            with contextlib.suppress(NodeExists):
                await self._store.create(self._parent, make_parents=True)
            created = await self._store.create(path, body, sequential=True)
        return self._number(created)

    async def read_new(self, watch: Watch | None = None) -> list[Notification]:
        """Return the changes that no earlier call returned, in order, and watch for more."""
        numbers = [n for n in await self._numbers(watch) if n > self._last_seen]
        found = await self._read(numbers)
        if numbers:
            self._last_seen = numbers[-1]
        return found

    async def read_all(self, watch: Watch | None = None) -> list[Notification]:
        """Return all changes there are, in order, and watch for more."""
        return await self._read(await self._numbers(watch))

    async def purge(self, now_ms: int) -> None:
        """Delete what is older than fifteen minutes, as every broker does after reading."""
        old = [n.number for n in await self.read_all() if now_ms - n.ctime_ms > PURGE_AFTER_MS]
        outcomes = await self._store.pipeline([[Delete(self._path(number))] for number in old])
        _raise_others(outcomes)

    async def delete(self, numbers: Iterable[int], epoch: ControllerEpoch) -> None:
        """Delete what the controller has dealt with; raises ControllerMoved."""
        outcomes = await self._store.pipeline(
            [epoch.fence(Delete(self._path(number))) for number in numbers]
        )
        _raise_others(outcomes)

    async def _numbers(self, watch: Watch | None) -> list[int]:
        return sorted(map(self._number, await self._store.children(self._parent, watch)))

    async def _read(self, numbers: list[int]) -> list[Notification]:
        znodes = await self._store.get_many([self._path(number) for number in numbers])
        return [
            _notification(number, znode)
            for number, znode in zip(numbers, znodes, strict=True)
            if znode is not None
        ]

    def _path(self, number: int) -> str:
        return f"{self._parent}/{self._prefix}{number:010d}"

    def _number(self, name: str) -> int:
        return int(name[name.rindex("_") + 1 :])


def _notification(number: int, znode: Znode) -> Notification:
    return Notification(number, znode.data or b"", znode.stat.ctime_ms)


def _raise_others(outcomes: Iterable[object]) -> None:
    """Raise what was refused for any other reason than that somebody else was quicker."""
    for outcome in outcomes:
        if isinstance(outcome, ZnodeError):
            raise_if_moved(outcome)
            if not isinstance(outcome, NoNode):
                raise outcome
