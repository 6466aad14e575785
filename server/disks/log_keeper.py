"""Background work of the data directories, driven by the broker's clock and loop.

The log manager says what is due and when to ask again; what waits for a disk (fsync, unlink,
small files) goes to a thread, where it holds no lock of the interpreter, and its outcome comes
back into the loop. What takes the interpreter's own time (compaction) is in a child process.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Clock
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.errors import LogDirectoryFailed, TooManyOpenFiles
from barnabas.storage.log_config import LogManagerConfig
from barnabas.storage.manager.disk_work import Done

if TYPE_CHECKING:
    from barnabas.storage.manager.log_manager import LogManager

LONGEST_PAUSE_MS = 500.0
THREADS = 2
STOPPING_THREADS = 64
COMPLETED_AT_ONCE = 4
"""Logs that are completed and handed to a thread, or closed, before the loop serves others."""
FLUSHED_AT_ONCE = COMPLETED_AT_ONCE * STOPPING_THREADS


Piece = tuple[Callable[[], None], Done]


class LogKeeper:
    """Runs what the log manager has to do."""

    manager: "LogManager"

    def __init__(
        self,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        on_error: Callable[[BaseException], None],
        *,
        in_threads: bool = True,
    ) -> None:
        """Without threads the work is done on the loop, a little later."""
        self._in_threads = in_threads
        self._clock = clock
        self._loop = loop
        self._on_error = on_error
        self._threads: ThreadPoolExecutor | None = None
        self._at_work = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._finished_some = asyncio.Event()
        self._stopped = False
        self._gathered: list[Piece] | None = None

    def start(self) -> None:
        """Begin to look after the logs."""
        self._tick()

    def look(self) -> int:
        """Do a slice of what is due; when to look again, by `clock.monotonic_ms`."""
        clock = self._clock
        return self.manager.background(clock.now_ms(), int(clock.monotonic_ms()))

    async def complete(self) -> None:
        """Before a clean stop: flush the logs, many at a time, for closing waits for each.

        Five thousand logs closed one after the other wait for seconds; disks and journals of
        file systems serve many at once in little more time than one.
        """
        await self.stop()
        self._threads = ThreadPoolExecutor(STOPPING_THREADS, "barnabas-stop")
        logs = list(self.manager)
        for start in range(0, len(logs), COMPLETED_AT_ONCE):
            with self._in_one_thread():
                for log in logs[start : start + COMPLETED_AT_ONCE]:
                    # Both while its files are open: they are seldom opened twice.
                    # A directory that failed knows; for want of a descriptor `close` does both.
                    with suppress(LogDirectoryFailed, TooManyOpenFiles):
                        log.flusher.complete()
                        self.manager.flush(log)
            await asyncio.sleep(0)
            while self._at_work >= FLUSHED_AT_ONCE:
                self._finished_some.clear()
                await self._finished_some.wait()
        await self.stop()

    async def close(self) -> None:
        """Close the logs and mark the stop as clean, some logs at a time."""
        for number, _ in enumerate(self.manager.closing()):
            if number % COMPLETED_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def stop(self) -> None:
        """Stop looking after them, once the threads have nothing left to do."""
        self._stopped = True
        await self._idle.wait()
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    async def idle(self) -> None:
        """Wait until the threads have nothing to do."""
        await self._idle.wait()

    def run(self, work: Callable[[], None], done: Done) -> None:
        """Do `work` in a thread, then `done(error or None)` on the loop (a `storage.Worker`)."""
        self._at_work += 1
        self._idle.clear()
        if self._gathered is None:
            self._submit([(work, done)])
        else:
            self._gathered.append((work, done))

    @contextmanager
    def _in_one_thread(self) -> Iterator[None]:
        """Gather what is to be done meanwhile for one thread, to do it piece after piece.

        To hand over each piece, and to be told of it, takes as long as what is done here for it.
        """
        gathered: list[Piece] = []
        self._gathered = gathered
        try:
            yield
        finally:
            self._gathered = None
            if gathered:
                self._submit(gathered)

    def _submit(self, pieces: list[Piece]) -> None:
        if not self._in_threads:
            self._loop.call_soon(self._in_thread, pieces)
            return
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "barnabas-disk")
        self._threads.submit(self._in_thread, pieces)

    def _in_thread(self, pieces: list[Piece]) -> None:
        self._loop.call_soon_threadsafe(
            self._finished, [(done, _failure_of(work)) for work, done in pieces]
        )

    def _finished(self, outcomes: list[tuple[Done, BaseException | None]]) -> None:
        for done, failure in outcomes:
            self._at_work -= 1
            try:
                done(failure)
            except Exception as error:
                self._on_error(error)
        self._finished_some.set()
        if not self._at_work:
            self._idle.set()

    def _tick(self) -> None:
        if self._stopped:
            return
        pause_ms = LONGEST_PAUSE_MS
        try:
            pause_ms = min(pause_ms, self.look() - self._clock.monotonic_ms())
        except Exception as error:
            self._on_error(error)
        self._clock.call_later(max(1.0, pause_ms), self._tick, coalesces=True)


def _failure_of(work: Callable[[], None]) -> BaseException | None:
    try:
        work()
    except BaseException as error:
        return error
    return None


def log_manager_config(config: BrokerConfig) -> LogManagerConfig:
    """The broker's settings that concern all of its logs."""
    return LogManagerConfig(
        retention_check_interval_ms=config.log_retention_check_interval_ms,
        flush_interval_ms=config.log_flush_scheduler_interval_ms,
        recovery_point_interval_ms=config.log_flush_offset_checkpoint_interval_ms,
        log_start_interval_ms=config.log_flush_start_offset_checkpoint_interval_ms,
        high_watermark_interval_ms=config.replica_high_watermark_checkpoint_interval_ms,
        producer_id_expiration_ms=config.producer_id_expiration_ms,
        producer_id_check_interval_ms=config.producer_id_expiration_check_interval_ms,
        initial_task_delay_ms=config.log_initial_task_delay_ms,
        recovery_processes=config.num_recovery_threads_per_data_dir,
        cleaner_enable=config.log_cleaner_enable,
        cleaner_threads=config.log_cleaner_threads,
        cleaner_backoff_ms=config.log_cleaner_backoff_ms,
        cleaner_dedupe_buffer_bytes=config.log_cleaner_dedupe_buffer_size,
        cleaner_load_factor=config.log_cleaner_io_buffer_load_factor,
        cleaner_io_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
    )
