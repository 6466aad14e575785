"""The journal file: what survives cuts, flipped bits, full disks and half-done rewrites."""

import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from barnabas.server.registry.znodes import journal as journals
from barnabas.server.registry.znodes import journal_rewrite, records
from barnabas.server.registry.znodes.journal import (
    Journal,
    JournalCorrupt,
    Loaded,
    load,
    open_journal,
)
from barnabas.server.registry.znodes.records import HEADER_BYTES
from barnabas.server.registry.znodes.store import ANY_VERSION, Stat
from barnabas.server.registry.znodes.tree import PERSISTENT, Change, Tree

Shown = dict[str, tuple[bytes | None, Stat]]


def shown(tree: Tree) -> Shown:
    """Return everything a tree holds, comparable."""
    return {path: (node.data, node.stat()) for path, node in tree.nodes.items()}


def transactions(tree: Tree) -> Iterator[bytes]:
    """Change the tree in ten transactions of every kind, and return the record of each."""
    kinds: list[list[tuple[str, str, bytes | None]]] = [
        [("create", "/a", b"1")],
        [("create", "/a/b", None), ("create", "/a/b/c", b"")],
        [("set", "/a", b"22")],
        [("ephemeral", "/e", b"mine")],
        [("delete", "/a/b/c", None), ("create", "/a/b/d", b"\x00\xff" * 40)],
        [("set", "/a/b/d", None)],
        [("delete", "/e", None)],
        [("create", "/ümläut", b"{}"), ("set", "/ümläut", b"[]"), ("set", "/ümläut", b"{}")],
        [("delete", "/a/b/d", None), ("delete", "/a/b", None)],
        [("create", "/a/b", records.RECORD_MAGIC)],
    ]
    for operations in kinds:
        zxid = tree.last_zxid + 1
        changes = [apply(tree, zxid, *operation) for operation in operations]
        tree.last_zxid = zxid
        yield records.encode_changes(zxid, zxid * 10, changes)


def apply(tree: Tree, zxid: int, kind: str, path: str, data: bytes | None) -> Change:
    if kind == "set":
        return tree.set_data(path, data, ANY_VERSION, zxid, zxid * 10)
    if kind == "delete":
        return tree.delete(path, ANY_VERSION, zxid)
    owner = 0x1234 if kind == "ephemeral" else PERSISTENT
    return tree.create(path, data, owner, False, zxid, zxid * 10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "registry.journal"


def written(path: Path) -> tuple[list[int], list[Shown]]:
    """Write a journal; return where each record ends and what the tree held there."""
    journal, loaded = open_journal(path)
    tree = loaded.tree
    ends, states = [path.stat().st_size], [shown(tree)]
    for record in transactions(tree):
        journal.append(record)
        ends.append(path.stat().st_size)
        states.append(shown(tree))
    journal.close()
    return ends, states


def load_file(path: Path) -> Loaded:
    return load(path, path.read_bytes())


def test_what_was_appended_is_there_again(path: Path) -> None:
    ends, states = written(path)
    loaded = load_file(path)
    assert shown(loaded.tree) == states[-1]
    assert loaded == Loaded(loaded.tree, ends[0], ends[-1], 0)
    assert loaded.tree.last_zxid == 10


def test_a_rewritten_journal_holds_the_same_tree(path: Path) -> None:
    _, states = written(path)
    journal, loaded = open_journal(path)
    before = path.stat().st_size
    rewritten(journal, loaded.tree)
    assert path.stat().st_size < before
    for record in transactions_after(loaded.tree):
        journal.append(record)
    journal.close()
    again = load_file(path)
    assert again.tree.last_zxid == 11
    later = shown(again.tree)
    assert later.pop("/after")[0] == b"1"
    root_before, root_after = states[-1].pop("/")[1], later.pop("/")[1]
    assert later == states[-1]
    assert root_after.cversion == root_before.cversion + 1


def rewritten(journal: Journal, tree: Tree) -> None:
    """Rewrite a journal, one step right after the other. Raises OSError."""
    rewrite = journal.begin_rewrite(tree)
    try:
        rewrite.write()
        rewrite.join()
        rewrite.sync()
        journal.replace(rewrite)
    except OSError:
        journal.drop(rewrite)
        raise


def transactions_after(tree: Tree) -> Iterator[bytes]:
    change = tree.create("/after", b"1", PERSISTENT, False, tree.last_zxid + 1, 0)
    tree.last_zxid += 1
    yield records.encode_changes(tree.last_zxid, 0, [change])


def test_a_snapshot_of_many_records(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "SNAPSHOT_RECORD_BYTES", 100)
    _, states = written(path)
    journal, loaded = open_journal(path)
    rewritten(journal, loaded.tree)
    journal.close()
    assert shown(load_file(path).tree) == states[-1]


def test_a_journal_cut_at_any_byte_holds_the_whole_transactions_before(path: Path) -> None:
    ends, states = written(path)
    content = path.read_bytes()
    for size in range(ends[0], len(content) + 1):
        complete = sum(end <= size for end in ends) - 1
        loaded = load(path, content[:size])
        assert shown(loaded.tree) == states[complete]
        assert (loaded.intact_bytes, loaded.cut_bytes) == (ends[complete], size - ends[complete])


def test_a_torn_end_is_cut_off_and_written_over(path: Path) -> None:
    ends, states = written(path)
    path.write_bytes(path.read_bytes()[: ends[-1] - 3])
    journal, loaded = open_journal(path)
    assert path.stat().st_size == ends[-2]
    assert shown(loaded.tree) == states[-2]
    for record in transactions_after(loaded.tree):
        journal.append(record)
    journal.close()
    assert "/after" in load_file(path).tree.nodes


def test_zeros_at_the_end_are_a_torn_end(path: Path) -> None:
    _, states = written(path)
    loaded = load(path, path.read_bytes() + bytes(5000))
    assert shown(loaded.tree) == states[-1]
    assert loaded.cut_bytes == 5000


def test_a_journal_without_its_whole_snapshot_is_refused(path: Path) -> None:
    ends, _ = written(path)
    content = path.read_bytes()
    for size in range(ends[0]):
        with pytest.raises(JournalCorrupt):
            load(path, content[:size])


def test_a_flipped_bit_is_noticed_wherever_it_is(path: Path) -> None:
    ends, states = written(path)
    content = bytearray(path.read_bytes())
    for position in range(len(content)):
        for bit in (0, 7):
            content[position] ^= 1 << bit
            if position < ends[-2]:
                with pytest.raises(JournalCorrupt) as refused:
                    load(path, bytes(content))
                assert str(path) in str(refused.value)
                assert refused.value.position <= position
            else:
                assert shown(load(path, bytes(content)).tree) == states[-2]
            content[position] ^= 1 << bit


@pytest.mark.parametrize(
    "payload",
    [
        b"\x09",
        records._END.pack(records.END, 10, 3),
        records._CHANGES.pack(records.CHANGES, 12, 0),
        records._CHANGES.pack(records.CHANGES, 11, 0) + b"half an operation",
        records._CHANGES.pack(records.CHANGES, 11, 0)
        + records._OPERATION.pack(1, 4, -1, 0)
        + b"/x/y",
        records._CHANGES.pack(records.CHANGES, 11, 0)
        + records._OPERATION.pack(2, 2, -1, 0)
        + b"/x",
        records._CHANGES.pack(records.CHANGES, 11, 0)
        + records._OPERATION.pack(7, 2, -1, 0)
        + b"/x",
        records._CHANGES.pack(records.CHANGES, 11, 0)
        + records._OPERATION.pack(1, 2, -1, 0)
        + b"/\xff",
    ],
)
def test_an_intact_record_that_makes_no_sense_is_refused(path: Path, payload: bytes) -> None:
    ends, _ = written(path)
    with pytest.raises(JournalCorrupt) as refused:
        load(path, path.read_bytes() + records.frame(payload))
    assert refused.value.position == ends[-1]


def test_another_file_is_not_taken_for_a_journal(path: Path) -> None:
    path.write_bytes(b"something else altogether")
    with pytest.raises(JournalCorrupt, match="does not begin like a registry journal"):
        open_journal(path)
    assert path.read_bytes() == b"something else altogether"


def test_a_rewrite_that_died_before_the_rename_leaves_the_old_journal(path: Path) -> None:
    _, states = written(path)
    temporary = path.with_name(path.name + ".tmp")
    whole = b"".join((records.FILE_MAGIC, *records.encode_snapshot(Tree())))
    for size in (0, 5, len(whole) - 1, len(whole)):
        temporary.write_bytes(whole[:size])
        journal, loaded = open_journal(path)
        journal.close()
        assert shown(loaded.tree) == states[-1]
        assert not temporary.exists()


@contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """Let no file grow beyond this size: the system then writes a part and refuses the rest."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_an_append_that_does_not_fit_leaves_nothing_behind(path: Path) -> None:
    journal, loaded = open_journal(path)
    made = list(transactions(loaded.tree))
    journal.append(made[0])
    size = path.stat().st_size
    with largest_file(size + len(made[1]) + 7), pytest.raises(OSError, match="too large"):
        journal.append(made[1] + made[2])
    assert path.stat().st_size == size
    for record in made[1:]:
        journal.append(record)
    journal.close()
    assert load_file(path).tree.last_zxid == 10


def test_a_rewrite_that_does_not_fit_keeps_the_old_journal(path: Path) -> None:
    written(path)
    journal, loaded = open_journal(path)
    with largest_file(50), pytest.raises(OSError, match="too large"):
        rewritten(journal, loaded.tree)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    for record in transactions_after(loaded.tree):
        journal.append(record)
    journal.close()
    assert load_file(path).tree.last_zxid == 11


def test_a_rewrite_is_due_when_the_tail_outgrows_the_snapshot(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "REWRITE_BYTES", 300)
    journal, loaded = open_journal(path)
    sizes = []
    for record in transactions(loaded.tree):
        journal.append(record)
        sizes.append((path.stat().st_size, journal.wants_rewrite))
    snapshot_bytes = len(records.FILE_MAGIC) + len(b"".join(records.encode_snapshot(Tree())))
    assert [wants for _, wants in sizes] == [size - snapshot_bytes > 300 for size, _ in sizes]
    assert sizes[0][1] is False and sizes[-1][1] is True
    with largest_file(50), pytest.raises(OSError, match="too large"):
        rewritten(journal, loaded.tree)
    assert not journal.wants_rewrite
    journal.append(records.frame(bytes(3 * sizes[-1][0])))
    assert journal.wants_rewrite
    rewritten(journal, loaded.tree)
    assert not journal.wants_rewrite
    journal.close()


def test_what_is_appended_between_the_steps_of_a_rewrite_is_in_whichever_file_is_found(
    path: Path,
) -> None:
    journal, loaded = open_journal(path)
    tree, appended = loaded.tree, transactions(loaded.tree)

    def append() -> None:
        journal.append(next(appended))
        assert shown(load_file(path).tree) == shown(tree)

    append()
    rewrite = journal.begin_rewrite(tree)
    append()
    rewrite.write()
    append()
    rewrite.join()
    append()
    rewrite.sync()
    append()
    assert shown(load(rewrite.path, rewrite.path.read_bytes()).tree) == shown(tree)
    journal.replace(rewrite)
    append()
    assert not rewrite.path.exists() and not journal.wants_rewrite
    rewritten(journal, tree)
    append()
    journal.close()
    assert shown(load_file(path).tree) == shown(tree)


def test_nothing_is_acknowledged_that_only_one_of_two_journals_holds(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []

    def sync(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink())

    journal, loaded = open_journal(path)
    rewrite = journal.begin_rewrite(loaded.tree)
    rewrite.write()
    monkeypatch.setattr(os, "fdatasync", sync)
    monkeypatch.setattr(os, "fsync", sync)
    journal.sync()
    assert synced == [path]
    rewrite.join()
    journal.sync()
    assert synced[1:] == [path, rewrite.path]
    journal.replace(rewrite)
    journal.sync()
    journal.sync()
    assert synced[3:] == [path, path.parent, path], "the new name is forced to disk once"
    journal.close()


class PowerCut:
    """What the disk is known to hold: of each file what was forced, and names likewise."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = path
        self._forced: dict[int, bytes] = {}  # by inode
        self._named = 0
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._force)

    def _force(self, fd: int) -> None:
        found = Path(f"/proc/self/fd/{fd}")
        if found.is_dir():
            self._named = self._path.stat().st_ino
        else:
            self._forced[found.stat().st_ino] = found.read_bytes()

    def possible_trees(self) -> list[Shown]:
        """What may be found after it: the name of a file may be the one it had, or has now."""
        inodes = {self._named, self._path.stat().st_ino}
        return [shown(load(self._path, self._forced[inode]).tree) for inode in inodes]


def calling_at_line(code: CodeType, line: int, call: Callable[[], object]) -> Callable[..., Any]:
    """A tracer that calls when the code comes to the n-th line that it runs."""
    lines_run = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines_run
        if frame.f_code is not code:
            return None
        if event == "line":
            lines_run += 1
            if lines_run == line:
                call()
        return trace

    return trace


@pytest.mark.parametrize("line", range(1, 11))
def test_what_is_forced_as_the_files_are_exchanged_is_on_the_disk_whichever_is_found(
    path: Path, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = PowerCut(path, monkeypatch)
    journal, loaded = open_journal(path)
    appended = transactions(loaded.tree)
    rewrite = journal.begin_rewrite(loaded.tree)
    rewrite.write()
    rewrite.join()
    rewrite.sync()
    journal.append(next(appended))
    acknowledged = shown(loaded.tree)
    exchange = partial(journal.replace, rewrite)
    before = sys.gettrace()
    sys.settrace(calling_at_line(Journal.sync.__code__, line, exchange))
    try:
        journal.sync()
    finally:
        sys.settrace(before)
    assert all(tree == acknowledged for tree in disk.possible_trees())
    if rewrite.path.exists():
        exchange()  # the call was over before that line
    journal.append(next(appended))
    journal.sync()
    assert all(tree == shown(loaded.tree) for tree in disk.possible_trees())
    journal.close()


@pytest.mark.parametrize("exchanged_first", [True, False])
def test_a_file_that_could_not_be_forced_is_not_believed_though_it_has_taken_the_place(
    path: Path, exchanged_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, loaded = open_journal(path)
    appended = transactions(loaded.tree)
    rewrite = journal.begin_rewrite(loaded.tree)
    rewrite.write()
    rewrite.join()
    journal.append(next(appended))

    def force(fd: int) -> None:
        if fd != rewrite.fd:
            return
        if exchanged_first:
            journal.replace(rewrite)
        raise OSError("the disk is failing")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", force)
        if exchanged_first:
            with pytest.raises(OSError, match="failing"):
                journal.sync()
            assert journal.wants_rewrite
        else:
            journal.sync()  # the old file holds it
            with pytest.raises(OSError, match="failing"):
                journal.replace(rewrite)
            journal.drop(rewrite)
    if exchanged_first:
        rewritten(journal, loaded.tree)
    journal.append(next(appended))
    journal.close()
    assert shown(load_file(path).tree) == shown(loaded.tree)


@pytest.mark.parametrize("step", ["write", "add", "sync"])
def test_a_rewrite_that_fails_at_any_step_leaves_the_old_journal(
    path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, loaded = open_journal(path)
    appended = transactions(loaded.tree)
    journal.append(next(appended))
    rewrite = journal.begin_rewrite(loaded.tree)

    def fails(*_: object) -> None:
        raise OSError("the disk is full")

    def steps() -> None:
        for each, name in (
            (rewrite.write, "fsync"),
            (rewrite.join, "-"),
            (rewrite.sync, "fdatasync"),
        ):
            with monkeypatch.context() as patched:
                if each.__name__ == step:
                    patched.setattr(os, name, fails)
                each()
        with monkeypatch.context() as patched:
            if step == "add":
                patched.setattr(journal_rewrite, "write_all", fails)
            journal.append(next(appended))
        journal.replace(rewrite)

    with pytest.raises(OSError, match="the disk is full"):
        steps()
    journal.drop(rewrite)
    journal.append(next(appended))
    journal.close()
    assert shown(load_file(path).tree) == shown(loaded.tree)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_every_append_can_be_forced_to_disk(path: Path) -> None:
    journal, loaded = open_journal(path)
    for record in transactions(loaded.tree):
        journal.append(record)
        journal.sync()
    assert load_file(path).tree.last_zxid == 10
    journal.close()


def test_the_record_header_is_what_the_format_says() -> None:
    framed = records.frame(b"payload")
    assert framed[:4] == b"ZNR\xb7"
    assert framed[4:8] == (7).to_bytes(4, "big")
    assert len(framed) == HEADER_BYTES + 7
    assert records.payload_end(framed, 0) == len(framed)
    assert records.payload_end(framed[:-1], 0) == -1
