"""The data directories as the broker's settings want them: made, locked, opened."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread

from barnabas.server.core.clock import Clock
from barnabas.server.core.startup import StartFailed
from barnabas.server.disks import file_limit
from barnabas.server.disks.log_keeper import LogKeeper, log_manager_config
from barnabas.server.observing.logs import Log
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.compaction.process import CompactionProcess
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.errors import (
    CorruptCheckpoint,
    InconsistentLogDirectory,
    LogDirectoryFailed,
    LogDirectoryLocked,
    OpeningGivenUp,
    TooManyOpenFiles,
)
from barnabas.storage.manager.data_directory import DataDirectory, ReplicasOf
from barnabas.storage.manager.log_manager import LogManager

GIVE_UP_S = 2.0
"""For a log that is being opened when nobody wants it any more."""


def make_disks(config: BrokerConfig, keeper: LogKeeper, fs: FileSystem = REAL) -> LogManager:
    """The log manager of `log.dirs`, which `keeper` looks after; nothing is touched yet.

    Child processes have the real disk only: on another one compaction is done on the spot.
    """
    disks = LogManager(
        config.data_dirs,
        log_manager_config(config),
        fs=fs,
        worker=keeper.run,
        compactor=CompactionProcess() if fs is REAL else None,
        open_files=file_limit.most_kept_open(file_limit.limit()),
        full_validation=config.produce_validation == "full",
    )
    keeper.manager = disks
    return disks


def lock_disks(disks: LogManager) -> None:
    """Keep other processes out of the data directories that work. Raises StartFailed."""
    try:
        disks.lock()
    except LogDirectoryLocked as error:
        raise StartFailed(f"{error}; set `log.dirs` to a directory of its own") from None
    except LogDirectoryFailed as error:
        raise StartFailed(f"{error}; see `log.dirs`") from None


async def open_disks(
    disks: LogManager,
    config: BrokerConfig,
    settings: TopicSettings,
    clock: Clock,
    *,
    broker_id: int,
    cluster_id: str,
    replicas_of: ReplicasOf,
    log: Log,
) -> None:
    """Load every log; those whose topic is unknown get the broker's settings.

    It is done in a thread: nobody is served yet, but /health answers, and a stop is heard of.
    Raises StartFailed.
    """
    config_of = await settings.read_all()
    open_all = partial(
        disks.open, config_of, clock.now_ms(), int(clock.monotonic_ms()),
        broker_id=broker_id, cluster_id=cluster_id, replicas_of=replicas_of,
    )  # fmt: skip
    try:
        if disks.fs is REAL:
            await _in_thread(disks, open_all)
        else:
            open_all()
    except (CorruptCheckpoint, InconsistentLogDirectory, LogDirectoryFailed) as error:
        raise StartFailed(f"{error}; see `log.dirs`") from None
    except TooManyOpenFiles as error:
        raise StartFailed(f"{error}; raise the limit of open files (`ulimit -n`)") from None
    for each in disks:
        for note in each.load_report.notes if each.load_report else ():
            log.warn("a log was mended", partition=each.topic_partition, what=note)
    shortage = file_limit.shortage(file_limit.limit(), config, len(list(disks)))
    if shortage is not None:
        log.warn(shortage)


async def _in_thread(disks: LogManager, open_all: Callable[[], None]) -> None:
    """Open the logs beside the loop; what fails of them is told on the loop, as ever.

    When this is cancelled the thread ends with the log that it is at. A disk that does not even
    answer is not waited for: the thread is one that the process does not outlive.
    """
    loop = asyncio.get_running_loop()
    told = disks.on_directory_failed
    opened: asyncio.Future[None] = loop.create_future()

    def tell(directory: DataDirectory) -> None:
        loop.call_soon_threadsafe(told, directory)

    def work() -> None:
        failure: BaseException | None = None
        try:
            open_all()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_settle, opened, failure)

    disks.on_directory_failed = tell
    try:
        Thread(target=work, name="barnabas-load", daemon=True).start()
        await asyncio.shield(opened)
    except asyncio.CancelledError:
        disks.give_up_opening()
        await asyncio.wait((opened,), timeout=GIVE_UP_S)
        raise
    finally:
        disks.on_directory_failed = told


def _settle(opened: "asyncio.Future[None]", failure: BaseException | None) -> None:
    if failure is None:
        opened.set_result(None)
    elif isinstance(failure, OpeningGivenUp):
        opened.cancel()
    else:
        opened.set_exception(failure)
