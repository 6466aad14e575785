"""A move between data directories, struck by every fault at every change that it makes to a disk.

Flow: a log is written and flushed, copied to the other directory while it grows, takes the other's
place, is written to and trimmed, and the old one goes. Wherever it is struck, opening the
directories again finds one log with all that was promised, whole and in order.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas.storage.directory_names import FUTURE, TopicPartition
from barnabas.storage.disk.fs import FileSystem
from barnabas.storage.errors import LogDirectoryFailed
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..faulty_disk import Fault, FaultyDisk, Killed
from ..managers import NOW_MS, append, opened, pass_time, values_of

PARTITION = TopicPartition("orders", 0)
CONFIG = LogConfig(segment_bytes=400, file_delete_delay_ms=100)
NO_SYNC = FileSystem(fsync=lambda fd: None)
STEPS = {Fault.KILL: 2, Fault.TEAR: 5, Fault.POWER: 2, Fault.EIO: 5, Fault.ONCE: 5}
"""At each how-manieth change it is struck here; `scripts/crash` takes every one."""


class Script:
    """The move, and what was promised so far."""

    def __init__(self, root: Path, fault: Fault, at: int) -> None:
        self.disk = FaultyDisk(root, fault, at)
        self.written = 0
        """Batches that were appended, in whatever log was in use."""
        self.durable = 0
        """Those of them that were flushed."""
        self.manager = LogManager([str(root / "one"), str(root / "two")], fs=self.disk.fs)

    def run(self) -> None:
        """Play it to its end, or to where it is struck."""
        with suppress(LogDirectoryFailed, Killed):
            for _ in self._steps():
                pass
        self.manager._close_files()

    def _steps(self) -> Iterator[None]:
        manager = self.manager
        manager.open(lambda topic: CONFIG, NOW_MS)
        source = manager.create(PARTITION, CONFIG, NOW_MS, path=manager.directories[0].path)
        yield from self._write(source, 5)
        self._flush(source)
        future = manager.futures.create(source, manager.directories[1], NOW_MS)
        self._copy(source, future)
        yield from self._write(source, 3)
        self._flush(source)
        self._copy(source, future)
        ready: list[bool] = []
        manager.futures.prepare(future, lambda: ready.append(True))
        if not ready:
            return
        yield from self._write(source, 1)
        self._copy(source, future)
        if manager.futures.replace(source, future):
            manager.futures.retire(source, future)
            if manager.directories[1].is_online:
                self.durable = self.written  # `retire` flushes
                yield from self._write(future, 2)
                self._flush(future)
                pass_time(manager, NOW_MS + 5_000)
                yield from self._write(future, 1)

    def _write(self, log: ManagedLog, count: int) -> Iterator[None]:
        for _ in range(count):
            append(log, b"%03d" % self.written + b"." * 50, sequence=self.written)
            self.written += 1
            yield

    def _flush(self, log: ManagedLog) -> None:
        def flushed(count: int = self.written) -> None:
            self.durable = count

        self.manager.flush(log, flushed)

    def _copy(self, source: ManagedLog, future: ManagedLog) -> None:
        while future.log_end_offset < source.log_end_offset:
            found = source.read(future.log_end_offset, 150, bound=ReadBound.LOG_END).records
            assert found is not None
            future.append_as_follower(found.read(), NOW_MS)

    def kept(self) -> int:
        """How many batches have to be there."""
        return self.durable if self.disk.fault is Fault.POWER else self.written


def numbers(log: ManagedLog) -> list[int]:
    return [int(value[:3]) for value in values_of(log) if value is not None]


def strike(root: Path, fault: Fault, at: int) -> Script:
    root.mkdir()
    script = Script(root, fault, at)
    script.run()
    if fault is Fault.POWER and script.disk.is_dead:
        script.disk.cut_power()
    return script


def check(root: Path, script: Script, where: str) -> None:
    """Nothing promised is lost, and the partition goes on from there."""
    manager = opened(root / "one", root / "two", config=CONFIG, fs=NO_SYNC)
    log = manager.get(PARTITION)
    assert log is not None or script.kept() == 0, where
    if log is not None:
        found = numbers(log)
        assert found == list(range(len(found))), where
        assert len(found) >= script.kept(), where
        append(log, b"%03d" % len(found), sequence=len(found))
        assert numbers(log)[-1] == len(found), where
    manager.close()
    again = opened(root / "one", root / "two", config=CONFIG, fs=NO_SYNC)
    assert len(list(again)) == (log is not None), where
    again.close()


def strike_everywhere(folder: Path, fault: Fault, step: int = 1) -> int:
    """Strike at every `step`th change, and check; how many changes there are."""
    folder.mkdir(exist_ok=True)
    whole = strike(folder / "whole", Fault.NONE, 0)
    assert (whole.written, whole.durable) == (12, 11)
    assert any(FUTURE in line for line in whole.disk.trace)
    for at in range(0, whole.disk.changes, step):
        root = folder / f"{at}"
        script = strike(root, fault, at)
        check(root, script, f"{fault.value}: {whole.disk.trace[at]}")
    return whole.disk.changes


@pytest.mark.broker_says("its partitions are offline", always=False)
@pytest.mark.parametrize("fault", STEPS, ids=lambda fault: fault.name)
def test_wherever_it_is_struck(tmp_path: Path, fault: Fault) -> None:
    strike_everywhere(tmp_path, fault, STEPS[fault])


def started_struck(root: Path, trace: list[str], fault: Fault, at: int) -> FaultyDisk:
    """A process dies between the two renames, and the start after it is struck."""
    (second,) = (
        number for number, line in enumerate(trace) if line.endswith("rename /one/orders-0")
    )
    script = strike(root, Fault.KILL, second)
    disk = FaultyDisk(root, fault, at)
    manager = LogManager([str(root / "one"), str(root / "two")], fs=disk.fs)
    with suppress(LogDirectoryFailed, Killed):
        manager.open(lambda topic: CONFIG, NOW_MS)
        log = manager.get(PARTITION)
        assert log is None or log.directory == str(root / "two" / "orders-0"), at
    manager._close_files()
    check(root, script, f"{fault.value}: {disk.trace[-1]}")
    return disk


@pytest.mark.broker_says("its partitions are offline", always=False)
@pytest.mark.parametrize("fault", [Fault.KILL, Fault.EIO, Fault.ONCE], ids=lambda each: each.name)
def test_wherever_the_start_is_struck_that_settles_it(tmp_path: Path, fault: Fault) -> None:
    """The partition lies in both directories; the one that was replaced is never served."""
    trace = strike(tmp_path / "whole", Fault.NONE, 0).disk.trace
    changes = started_struck(tmp_path / "settled", trace, Fault.NONE, 0).changes
    for at in range(changes):
        started_struck(tmp_path / f"{at}", trace, fault, at)
