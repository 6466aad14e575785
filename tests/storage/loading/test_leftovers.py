"""The table of what each leftover means, row by row, and every crash that can bring one about."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record
from barnabas.storage.compaction.cleaned_segment import CleanedSegment
from barnabas.storage.compaction.job import SourceSegment
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.loading.leftovers import clean_up, foreign_names
from barnabas.storage.log.log import Log

from ..compaction_jobs import job_for
from ..faulty_disk import Killed
from ..logs import NOW_MS, a_batch, append, config, file_name, offsets, open_log

UNDONE = "an unfinished compaction is undone"
FINISHED = "a finished compaction is carried through"


def batch_at(base_offset: int, count: int = 2) -> bytes:
    return bytes(build_batch([Record(base_offset + n, NOW_MS, b"k", b"v") for n in range(count)]))


@dataclass
class Row:
    """Files of two records each; those that must be left. A segment's name alone: its `.log`."""

    meaning: str
    found: str
    left: str
    notes: tuple[str, ...] = ()


TABLE = [
    Row("a sound log", "0.log 0.index 2.log", "0.log 0.index 2.log"),
    Row(
        "no part of the log any more",
        "0.log.deleted 0.index.deleted 0.snapshot.deleted 4.log.cleaned.deleted 2.log",
        "2.log",
    ),
    Row("not finished", "0.log 0.log.cleaned 0.index.cleaned", "0.log", (UNDONE,)),
    Row("not finished, of no segment there is", "0.log 8.log.cleaned", "0.log", (UNDONE,)),
    Row(
        "the first rename of a compaction",
        "0.log 0.index 2.log 0.log.swap 0.index.cleaned 0.timeindex.cleaned",
        "0.log 0.index 2.log",
        (UNDONE,),
    ),
    Row(
        "all but one renamed",
        "0.log 0.index 2.log 0.log.swap 0.index.swap 0.timeindex.cleaned",
        "0.log 0.index 2.log",
        (UNDONE,),
    ),
    Row(
        "all of a compaction renamed, nothing set aside",
        "0.log 0.index 0.snapshot 2.log 0.log.swap 0.index.swap",
        "0.log 0.index 2.log",
        (FINISHED,),
    ),
    Row(
        "the old .log set aside",
        "0.log.deleted 0.index 0.txnindex 0.log.swap 0.index.swap",
        "0.log 0.index",
        (FINISHED,),
    ),
    Row(
        "all old ones set aside",
        "0.log.swap 0.index.swap 2.log",
        "0.log 0.index 2.log",
        (FINISHED,),
    ),
    Row("the .log has its name", "0.log 0.index.swap 2.log", "0.log 0.index 2.log", (FINISHED,)),
    Row(
        "the .log has its name, and another job was killed before",
        "0.log 0.index.swap 0.txnindex.swap 2.log 0.timeindex.swap 9.log.cleaned",
        "0.log 0.index 0.txnindex 0.timeindex 2.log",
        (UNDONE, FINISHED),
    ),
    *(
        Row(
            f"the old ones have gone, and a job at {stale} was killed before",
            f"0.log.deleted 0.log.swap 0.index.swap 2.log {stale}.log.cleaned",
            "0.log 0.index 2.log",
            (UNDONE, FINISHED),
        )
        for stale in (0, 1, 2, 9)
    ),
    Row(
        "the same in the middle of the log",
        "0.log 4.log.swap 4.index.swap 6.log 0.log.cleaned",
        "0.log 4.log 4.index 6.log",
        (UNDONE, FINISHED),
    ),
    Row(
        "a split whose lower half is not renamed",
        "0.log+8 0.index 0.log.cleaned 4.log.swap 6.log.swap 8.log",
        "0.log+8 0.index 8.log",
        (UNDONE,),
    ),
    Row(
        "a split, all renamed",
        "0.log+8 0.index 0.log.swap 2.log.swap 4.log.swap 6.log.swap 8.log",
        "0.log 2.log 4.log 6.log 8.log",
        (FINISHED,),
    ),
    Row(
        "a split that takes its names",
        "0.log 2.log 4.log.swap 6.log.swap 8.log",
        "0.log 2.log 4.log 6.log 8.log",
        (FINISHED,),
    ),
    Row(
        "a compacted segment that is empty takes the old indexes along",
        "0.log 0.index 0.txnindex 0.log.swap+0 0.index.swap 2.log",
        "0.log+0 0.index 2.log",
        (FINISHED,),
    ),
]


def size_and_name(text: str) -> tuple[int, str]:
    """`4.log.swap+8`: eight records; without a number, two."""
    name, _, count = text.partition("+")
    base_offset, _, extension = name.partition(".")
    return int(count or 2), file_name(int(base_offset), extension)


def put(folder: Path, text: str) -> None:
    count, name = size_and_name(text)
    batches = b"".join(batch_at(int(name[:20]) + n) for n in range(0, count, 2))
    (folder / name).write_bytes(batches if ".log" in name else b"")


def holding(folder: Path, names: str) -> Path:
    """A new folder with these files."""
    folder.mkdir()
    for each in names.split():
        put(folder, each)
    return folder


def contents(folder: Path) -> dict[str, int]:
    """Names and sizes of a folder's files."""
    return {path.name: path.stat().st_size for path in folder.iterdir()}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row.meaning))
def test_each_leftover_is_what_it_means(row: Row, tmp_path: Path) -> None:
    found, expected = holding(tmp_path / "found", row.found), holding(tmp_path / "left", row.left)
    notes: list[str] = []
    left = clean_up(REAL, str(found), set(contents(found)), notes.append)
    assert contents(found) == contents(expected)
    assert left == set(contents(found))
    assert tuple(notes) == row.notes


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row.meaning))
def test_a_clean_up_that_is_broken_off_comes_to_the_same(row: Row, tmp_path: Path) -> None:
    """Flow: it is killed before each of its changes in turn; the next one ends what it began."""
    once = holding(tmp_path / "once", row.found)
    clean_up(REAL, str(once), set(contents(once)), lambda note: None)
    for at in range(len(row.found.split()) + 8):
        folder = holding(tmp_path / str(at), row.found)
        for fs in (dying(at), REAL):
            try:
                clean_up(fs, str(folder), set(contents(folder)), lambda note: None)
            except Killed:
                continue
        assert contents(folder) == contents(once), at


def dying(at: int) -> FileSystem:
    """File calls of a process that dies before its n-th rename or removal."""
    left = at

    def change(real: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal left
        if left == 0:
            raise Killed
        left -= 1
        return real(*arguments)

    return FileSystem(rename=partial(change, REAL.rename), unlink=partial(change, REAL.unlink))


def test_the_files_of_others_are_left_alone(tmp_path: Path) -> None:
    others = {
        "notes.swap", "x.cleaned", "a" * 20 + ".log", "9" * 20 + ".log", "٣" * 20 + ".snapshot",
        "0.index", "old.deleted", "00000000000000000005-0000000001.checkpoint.deleted",
        "leader-epoch-checkpoint", "partition.metadata", "README",
    }  # fmt: skip
    for name in others:
        (tmp_path / name).write_bytes(b"mine")
    put(tmp_path, "0.log")
    notes: list[str] = []
    names = set(contents(tmp_path))
    assert clean_up(REAL, str(tmp_path), names, notes.append) == names == set(contents(tmp_path))
    assert notes == []
    assert set(foreign_names(names)) == {
        "notes.swap", "x.cleaned", "a" * 20 + ".log", "9" * 20 + ".log", "٣" * 20 + ".snapshot",
        "0.index", "old.deleted",
    }  # fmt: skip


FOREIGN = ["notes.swap", "x.cleaned", "a" * 20 + ".log", "9" * 20 + ".log", "b" * 20 + ".snapshot"]


@pytest.mark.parametrize("clean", [True, False])
def test_a_log_with_files_of_others_in_its_folder_is_opened(clean: bool, tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for _ in range(5):
        append(log, a_batch(2))
    wanted = offsets(log)
    log.close()
    for name in FOREIGN:
        (tmp_path / "t-0" / name).write_bytes(b"mine")
    log = open_log(tmp_path, clean=clean)
    assert offsets(log) == wanted
    assert sorted(log.load_report.notes) == sorted(
        f"{name} is no file of a log; it is left alone" for name in FOREIGN
    )
    assert {name for name in FOREIGN if (tmp_path / "t-0" / name).read_bytes() == b"mine"} == {
        *FOREIGN
    }
    log.close()


# --- a crash anywhere in the swap --------------------------------------------------------


SETTINGS: dict[str, Any] = {"segment_bytes": 250, "index_interval_bytes": 60}
SEGMENTS = 6
STALE = {"nothing": None, "a lower job": 0, "the same job": 4, "a higher job": 8}


def filled(folder: Path, fs: FileSystem) -> Log:
    """Segments of two batches of two records each, all keys different."""
    directory = folder / "t-0"
    directory.mkdir(parents=True)
    log = Log.open(str(directory), "t-0", config(**SETTINGS), NOW_MS, fs=fs)
    while len(log.segments) < SEGMENTS:
        append(log, a_batch(2, value=b"v" * 20))
    return log


def compacted(log: Log) -> list[int]:
    """Segments two to four written as one `.cleaned`, with all their batches: their offsets."""
    old = list(log.segments)[1:4]
    job = job_for(Path(log.directory), [SourceSegment(0, 1, 1)], config(**SETTINGS))
    target = CleanedSegment(REAL, job, old[0].base_offset)
    for segment in old:
        data = segment.slice(0, segment.size_bytes).read()
        target.segment.append_set(data, list(walk(data)))
    target.segment.finish()
    target.segment.close()
    return [segment.base_offset for segment in old]


class Dying:
    """Real file calls up to the n-th change, which kills; -1 never does."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.changes = 0
        self.is_armed = False
        self.fs = FileSystem()
        for name in ("rename", "unlink"):
            setattr(self.fs, name, partial(self._call, getattr(REAL, name)))

    def _call(self, real: Callable[..., Any], *arguments: Any) -> Any:
        if self.is_armed:
            if self.changes == self.at:
                raise Killed
            self.changes += 1
        return real(*arguments)


def swap(folder: Path, disk: Dying, stale: int | None) -> list[tuple[int, int]]:
    """Swap a compacted segment in, dying on the way: what the log held."""
    log = filled(folder, disk.fs)
    wanted = offsets(log)
    bases = compacted(log)
    old = [each for each in log.segments if each.base_offset in bases]
    if stale is not None and stale != bases[0]:
        (folder / "t-0" / file_name(stale, "log.cleaned")).write_bytes(batch_at(stale))
    disk.is_armed = True
    try:
        log.store.replace([bases[0]], old, NOW_MS)
    except Killed:
        pass
    finally:
        disk.is_armed = False
        log.close_files()
    return wanted


def crashes(tmp_path: Path, stale: int | None) -> Iterator[int]:
    disk = Dying(-1)
    swap(tmp_path / "whole", disk, stale)
    assert disk.changes > 10
    yield from range(disk.changes + 1)


@pytest.mark.parametrize("stale", STALE.values(), ids=STALE)
def test_a_crash_at_any_rename_of_a_swap_loses_nothing(stale: int | None, tmp_path: Path) -> None:
    """Flow: the output of a job that was killed lies about, or not; the process dies in the
    middle of the swap; every record is there after the next start, and after the one that
    follows nothing is left to do."""
    for at in crashes(tmp_path, stale):
        folder = tmp_path / str(at)
        wanted = swap(folder, Dying(at), stale)
        log = open_log(folder, clean=False, **SETTINGS)
        assert offsets(log) == wanted, at
        assert log.load_report.truncated_bytes == 0
        log.close()
        log = open_log(folder, **SETTINGS)
        assert (offsets(log), log.load_report.notes) == (wanted, [])
        log.close()


def test_a_crash_in_the_clean_up_after_a_crash_loses_nothing_either(tmp_path: Path) -> None:
    for at in list(crashes(tmp_path, stale=0))[::2]:
        crashed = tmp_path / str(at)
        wanted = swap(crashed, Dying(at), stale=0)
        again, is_done = 0, False
        while not is_done:
            folder = tmp_path / f"{at}-{again}"
            directory = shutil.copytree(crashed, folder) / "t-0"
            try:
                clean_up(dying(again), str(directory), set(contents(directory)), lambda note: None)
                is_done = True
            except Killed:
                again += 1
            log = open_log(folder, recovery_point=wanted[-1][1] + 1, **SETTINGS)
            assert offsets(log) == wanted, (at, again)
            log.close_files()
