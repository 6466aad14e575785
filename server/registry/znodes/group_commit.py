"""Waiting until what was written is on disk, with one call to the disk for all who wait.

While the disk is busy with one call, whoever has written since waits for the next, together
with everybody else. So a thousand writes at once cost two calls, and a single one costs one.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.storage.manager.disk_work import Worker


class GroupCommit:
    """Shares calls of `sync`, which are made in a worker."""

    def __init__(self, sync: Callable[[], None], worker: "Worker") -> None:
        self._sync = sync
        self._worker = worker
        self._waiting: list[asyncio.Future[None]] = []
        self._is_syncing = False

    async def wait(self) -> None:
        """Return when all that has been written by now is on disk; raises what `sync` raises."""
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(safe)
        if not self._is_syncing:
            self._begin()
        await safe

    def _begin(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._is_syncing = True
        self._worker(self._sync, partial(self._done, waiting))

    def _done(self, waiting: list[asyncio.Future[None]], error: BaseException | None) -> None:
        self._is_syncing = False
        if self._waiting:
            self._begin()
        for safe in waiting:
            if safe.done():
                continue
            if error is None:
                safe.set_result(None)
            else:
                safe.set_exception(error)
