"""A log manager that runs as in a broker: real time, threads for the disk, children to compact."""

import select
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

from barnabas.storage.compaction.process import CompactionProcess
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.disk_work import Done
from barnabas.storage.manager.log_manager import LogManager

THREADS = 2


class Loss(Exception):
    """Something is not as it must be."""


def require(holds: bool, what: object) -> None:
    """Raise Loss unless something holds."""
    if not holds:
        raise Loss(str(what))


class ThreadWorker:
    """Does work in threads; what came of it is told where `deliver` is called."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS)
        self._finished: SimpleQueue[tuple[Done, OSError | None]] = SimpleQueue()

    def __call__(self, work: Callable[[], None], done: Done) -> None:
        self._threads.submit(self._in_thread, work, done)

    def _in_thread(self, work: Callable[[], None], done: Done) -> None:
        failure = None
        try:
            work()
        except OSError as error:
            failure = error
        self._finished.put((done, failure))

    def deliver(self) -> None:
        """Tell what has been done."""
        while True:
            try:
                done, failure = self._finished.get_nowait()
            except Empty:
                return
            done(failure)


_all: list["Running"] = []


def abandon_all() -> None:
    """Let go of whatever is running after a check has failed."""
    for running in _all:
        running.manager.abandon()
    _all.clear()


class Running:
    """A data directory in use; also measures how long a slice of background work takes."""

    def __init__(self, folder: Path, config: LogConfig, settings: LogManagerConfig) -> None:
        self._worker = ThreadWorker()
        self.manager = LogManager(
            [str(folder)], settings, worker=self._worker, compactor=CompactionProcess()
        )
        self.manager.open(lambda topic: config, wall_ms(), int(time.monotonic() * 1000))
        _all.append(self)
        self.slices_ms: list[float] = []
        self.most_descriptors = 0

    def until(self, is_so: Callable[[], bool], seconds: float, what: str) -> None:
        """Do what is due until something is so; Loss if it takes longer."""
        deadline = time.monotonic() + seconds
        while not is_so():
            require(time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s")
            self._do_a_slice()

    def _do_a_slice(self) -> None:
        self._worker.deliver()
        begin = time.monotonic()
        due_ms = self.manager.background(wall_ms(), int(begin * 1000))
        end = time.monotonic()
        self.slices_ms.append(1000 * (end - begin))
        if len(self.slices_ms) % 100 == 0:
            opened = sum(1 for _ in Path("/proc/self/fd").iterdir())
            self.most_descriptors = max(self.most_descriptors, opened)
        pause_s = min(max(due_ms / 1000 - end, 0), 0.02)
        fd = self.manager.scheduler.fileno()
        select.select([] if fd is None else [fd], [], [], pause_s)

    def close(self) -> None:
        """Stop in good order."""
        while not self.manager.is_idle:
            self._worker.deliver()
            time.sleep(0.001)
        self.manager.close()
        _all.remove(self)
        require(self.manager.directories[0].is_online, "the directory went offline")

    def slice_figures(self) -> str:
        """Median, 99th percentile and largest of the slices."""
        ordered = sorted(self.slices_ms)
        median, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
        return f"slices of the loop {median:.1f} / {p99:.1f} / {ordered[-1]:.0f} ms (p50/p99/max)"


def wall_ms() -> int:
    return int(time.time() * 1000)
