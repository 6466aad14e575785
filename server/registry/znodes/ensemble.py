"""The embedded ensemble: one tree of znodes for the brokers of this process.

`Ensemble` is the server's side of the embedded store: the tree, the watch table, the journal
and the sessions. `embedded.py` has the client's side.

Order of a write: do it to the tree, append it to the journal, fire the watches; then the writer
waits until the journal is on disk (`settled`), as ZooKeeper acknowledges nothing before. If an
operation is refused, or the journal cannot be written, the tree is taken back and nobody hears
of anything. If it cannot be forced to disk, nobody knows what is there: the writer hears
ConnectionLoss, and nothing is written before there is a whole new file. Watches are delivered in
order before `commit` returns; a watch that writes (it should not) has its own events delivered
after the ones under way. What a reader sees may not be on disk yet, but whatever it then writes
lies behind it.

Sessions do not survive the process: whatever ephemerals the journal holds belong to dead
brokers and are deleted, in one transaction, when it is opened. So a broker that was killed may
come back at once, and its epoch (the zxid of its registration) is still a new one.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.server.registry.znodes import records
from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.group_commit import GroupCommit
from barnabas.server.registry.znodes.journal import Journal, open_journal
from barnabas.server.registry.znodes.journal_rewrite import JournalRewrite
from barnabas.server.registry.znodes.store import (
    Check,
    ConnectionLoss,
    Create,
    Delete,
    Op,
    Result,
    SetData,
    StoreFailed,
    Watch,
    WatchEvent,
    ZnodeError,
)
from barnabas.server.registry.znodes.tree import PERSISTENT, Change, Tree
from barnabas.server.registry.znodes.watches import WatchTable

if TYPE_CHECKING:
    from barnabas.storage.manager.disk_work import Done, Worker

JOURNAL_NAME = "registry.journal"
SESSION_TIMEOUT_MS = 18_000

_log = logging.getLogger(__name__)

Outcome = list[Result] | ZnodeError


class Ensemble:
    """The server's side of the embedded store, shared by the brokers of this process."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        journal_path: Path | None = None,
        *,
        worker: "Worker | None" = None,
        rewriter: "Worker | None" = None,
        monotonic_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        """Open the tree kept at `journal_path`, or a new one in memory only.

        `worker` forces the journal to disk; without one that is left to the operating system,
        and a write is acknowledged when it survives the process. `rewriter` puts a new journal
        on the disk; without one that is done on the spot. Raises JournalCorrupt, OSError.
        """
        self.now_ms = now_ms
        self.monotonic_ms = monotonic_ms  # for timeouts, which no change of the date may move
        self._journal: Journal | None = None
        self.tree = Tree()
        self._deliveries: deque[tuple[int, Watch, WatchEvent]] = deque()
        self._delivering = False
        self._watches = WatchTable(self._queue)
        self._stores: dict[int, EmbeddedStore] = {}
        self._last_session_id = _first_session_id(now_ms())
        self._group_commit: GroupCommit | None = None
        self._rewriter = rewriter
        if journal_path is not None:
            self._open(journal_path, worker)

    def connect(self, timeout_ms: int = SESSION_TIMEOUT_MS) -> EmbeddedStore:
        """Begin a session."""
        return EmbeddedStore(self, timeout_ms)

    async def settled(self, path: str) -> None:
        """Wait until everything committed so far is on disk; raises ConnectionLoss."""
        if self._group_commit is None:
            return
        try:
            await self._group_commit.wait()
        except Exception as error:
            _log.error("the registry could not be forced to disk: %r", error)
            raise ConnectionLoss(path) from error

    def expire_sessions(self) -> None:
        """End the sessions that have been suspended for their timeout."""
        now_ms = self.monotonic_ms()
        for session_id, store in list(self._stores.items()):
            if store.deadline_ms is not None and now_ms >= store.deadline_ms:
                self.end_session(session_id)

    def close(self) -> None:
        """Close all sessions and the journal."""
        for store in list(self._stores.values()):
            try:
                store.close_now()
            except StoreFailed:
                _log.warning("session %x was not closed in the journal", store.session_id)
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def begin_session(self, store: EmbeddedStore) -> int:
        """Give a store a new session id."""
        self._last_session_id += 1
        self._stores[self._last_session_id] = store
        return self._last_session_id

    def end_session(self, session_id: int) -> None:
        """End a session: its watches go, and its ephemerals in one transaction."""
        self._watches.forget(session_id)
        self._delete_all(self.tree.ephemerals.get(session_id, ()))
        self._stores.pop(session_id).ended()

    def is_live(self, session_id: int) -> bool:
        """Whether the session has neither been closed nor expired."""
        return session_id in self._stores

    def watch_data(self, path: str, session_id: int, watch: Watch) -> None:
        """Set a data watch for a session."""
        self._watches.watch_data(path, session_id, watch)

    def watch_children(self, path: str, session_id: int, watch: Watch) -> None:
        """Set a child watch for a session."""
        self._watches.watch_children(path, session_id, watch)

    def commit(self, session_id: int, transactions: Sequence[Sequence[Op]]) -> list[Outcome]:
        """Do the transactions in order, write the journal once, fire the watches.

        A refused transaction leaves its error in the list. Raises StoreFailed when the journal
        cannot be written; then none of them has happened.
        """
        tree, now_ms = self.tree, self.now_ms()
        outcomes: list[Outcome] = []
        framed: list[bytes] = []
        done: list[Change] = []
        for ops in transactions:
            changes: list[Change] = []
            outcomes.append(self._transact(session_id, ops, now_ms, changes))
            if changes:
                tree.last_zxid += 1
                done += changes
                if self._journal is not None:
                    framed.append(records.encode_changes(tree.last_zxid, now_ms, changes))
        self._write_journal(framed, done)
        if done:
            self._watches.fire(done)
            self._deliver()
        return outcomes

    def _transact(
        self, session_id: int, ops: Sequence[Op], now_ms: int, changes: list[Change]
    ) -> Outcome:
        tree = self.tree
        zxid = tree.last_zxid + 1
        results: list[Result] = []
        try:
            for op in ops:
                if isinstance(op, Create):
                    owner = session_id if op.ephemeral else PERSISTENT
                    change = tree.create(op.path, op.data, owner, op.sequential, zxid, now_ms)
                    results.append(change.path)
                    changes.append(change)
                elif isinstance(op, Check):
                    tree.check(op.path, op.version)
                    results.append(None)
                elif isinstance(op, SetData):
                    change = tree.set_data(op.path, op.data, op.version, zxid, now_ms)
                    results.append(change.node.stat())
                    changes.append(change)
                else:
                    changes.append(tree.delete(op.path, op.version, zxid))
                    results.append(None)
        except ZnodeError as error:
            tree.undo(changes)
            changes.clear()
            error.failed_op = len(results)
            return error
        return results

    def _write_journal(self, framed: list[bytes], done: list[Change]) -> None:
        if self._journal is None or not framed:
            return
        try:
            self._journal.append(b"".join(framed))
        except OSError as error:
            self.tree.undo(done)
            self.tree.last_zxid -= len(framed)
            _log.error("the registry could not be written: %s", error)
            raise StoreFailed(done[0].path) from error
        finally:
            if self._journal.wants_rewrite:
                self._rewrite_journal(self._journal)

    # A rewrite, in the steps of journal_rewrite.py; whatever fails, the old file goes on.

    def _rewrite_journal(self, journal: Journal) -> None:
        rewrite = journal.begin_rewrite(self.tree)
        self._in_rewriter(rewrite.write, lambda error: self._written(journal, rewrite, error))

    def _written(
        self, journal: Journal, rewrite: JournalRewrite, error: BaseException | None
    ) -> None:
        if self._still_wants(journal, rewrite, error):
            rewrite.join()
            self._in_rewriter(rewrite.sync, lambda error: self._synced(journal, rewrite, error))

    def _synced(
        self, journal: Journal, rewrite: JournalRewrite, error: BaseException | None
    ) -> None:
        if self._still_wants(journal, rewrite, error):
            try:
                journal.replace(rewrite)
            except OSError as failure:
                self._still_wants(journal, rewrite, failure)

    def _still_wants(
        self, journal: Journal, rewrite: JournalRewrite, error: BaseException | None
    ) -> bool:
        """Whether the rewrite goes on; one that failed, or outlived the journal, is dropped."""
        if self._journal is not journal:
            return False  # closed, and the rewrite dropped by that
        if error is not None:
            _log.warning("the registry's journal could not be compacted: %r", error)
            journal.drop(rewrite)
        return error is None

    def _in_rewriter(self, work: Callable[[], None], done: "Done") -> None:
        if self._rewriter is not None:
            self._rewriter(work, done)
            return
        from barnabas.storage.manager.disk_work import work_inline

        work_inline(work, done)

    def _open(self, path: Path, worker: "Worker | None") -> None:
        self._journal, loaded = open_journal(path)
        if worker is not None:
            self._group_commit = GroupCommit(self._journal.sync, worker)
        self.tree = loaded.tree
        if loaded.cut_bytes:
            _log.warning("%s: cut %d bytes of an unfinished write", path, loaded.cut_bytes)
        self._delete_all([path for owned in self.tree.ephemerals.values() for path in owned])

    def _delete_all(self, ephemerals: Iterable[str]) -> None:
        self.commit(PERSISTENT, ([Delete(path) for path in ephemerals],))

    def _queue(self, session_id: int, watch: Watch, event: WatchEvent) -> None:
        self._deliveries.append((session_id, watch, event))

    def _deliver(self) -> None:
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._deliveries:
                session_id, watch, event = self._deliveries.popleft()
                store = self._stores.get(session_id)
                if store is not None:
                    store.notify(watch, event)
        finally:
            self._delivering = False


def _first_session_id(now_ms: int) -> int:
    """Return a number no earlier process has used: 40 bits of time, then a counter of 16."""
    return ((now_ms << 24) & 0xFFFF_FFFF_FFFF_FFFF) >> 8
