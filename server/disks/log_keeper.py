"""Background work of the data directories, driven by the broker's clock and loop.

The log manager says what is due and when to ask again; what waits for a disk (fsync, unlink,
small files) goes to a thread, where it holds no lock of the interpreter, and its outcome comes
back into the loop. What takes the interpreter's own time (compaction) is in a child process.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Clock
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.errors import LogDirectoryFailed
from barnabas.storage.log_config import LogManagerConfig
from barnabas.storage.manager.disk_work import Done

if TYPE_CHECKING:
    from barnabas.storage.manager.log_manager import LogManager

LONGEST_PAUSE_MS = 500.0
THREADS = 2
STOPPING_THREADS = 64
FLUSHED_AT_ONCE = 2 * STOPPING_THREADS
COMPLETED_AT_ONCE = 4
"""Logs that are completed, or closed, before the loop serves others: each makes some files."""


class LogKeeper:
    """Runs what the log manager has to do."""

    manager: "LogManager"

    def __init__(
        self,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._clock = clock
        self._loop = loop
        self._on_error = on_error
        self._threads: ThreadPoolExecutor | None = None
        self._at_work = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._finished_some = asyncio.Event()
        self._stopped = False

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
        for number, log in enumerate(logs):
            # All of this first: making files is slow while others are synced.
            with suppress(LogDirectoryFailed):  # the directory knows
                log.flusher.complete()
            if number % COMPLETED_AT_ONCE == 0:
                await asyncio.sleep(0)
        for number, log in enumerate(logs):
            self.manager.flush(log)
            if number % COMPLETED_AT_ONCE == 0:
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
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "barnabas-disk")
        self._at_work += 1
        self._idle.clear()
        self._threads.submit(self._in_thread, work, done)

    def _in_thread(self, work: Callable[[], None], done: Done) -> None:
        failure: BaseException | None = None
        try:
            work()
        except BaseException as error:
            failure = error
        self._loop.call_soon_threadsafe(self._finished, done, failure)

    def _finished(self, done: Done, failure: BaseException | None) -> None:
        self._at_work -= 1
        self._finished_some.set()
        try:
            done(failure)
        except Exception as error:
            self._on_error(error)
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
