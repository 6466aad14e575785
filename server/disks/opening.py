"""The data directories as the broker's settings want them: made, locked, opened."""

from barnabas.server.core.clock import Clock
from barnabas.server.core.startup import StartFailed
from barnabas.server.disks import file_limit
from barnabas.server.disks.log_keeper import LogKeeper, log_manager_config
from barnabas.server.observing.logs import Log
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.compaction.process import CompactionProcess
from barnabas.storage.errors import (
    InconsistentLogDirectory,
    LogDirectoryFailed,
    LogDirectoryLocked,
    TooManyOpenFiles,
)
from barnabas.storage.manager.data_directory import IsStray
from barnabas.storage.manager.log_manager import LogManager


def make_disks(config: BrokerConfig, keeper: LogKeeper) -> LogManager:
    """The log manager of `log.dirs`, which `keeper` looks after; nothing is touched yet."""
    disks = LogManager(
        config.data_dirs,
        log_manager_config(config),
        worker=keeper.run,
        compactor=CompactionProcess(),
        open_files=file_limit.most_kept_open(file_limit.limit()),
        full_validation=config.produce_validation == "full",
    )
    keeper.manager = disks
    return disks


def lock_disks(disks: LogManager) -> None:
    """Keep other processes out. Raises StartFailed."""
    try:
        disks.lock()
    except LogDirectoryLocked as error:
        raise StartFailed(f"{error}; set `log.dirs` to a directory of its own") from None


async def open_disks(
    disks: LogManager,
    config: BrokerConfig,
    settings: TopicSettings,
    clock: Clock,
    *,
    broker_id: int,
    cluster_id: str,
    is_stray: IsStray,
    log: Log,
) -> None:
    """Load every log; those whose topic is unknown get the broker's settings.

    Raises StartFailed.
    """
    config_of = await settings.read_all()
    try:
        disks.open(
            config_of, clock.now_ms(), int(clock.monotonic_ms()),
            broker_id=broker_id, cluster_id=cluster_id, is_stray=is_stray,
        )  # fmt: skip
    except (InconsistentLogDirectory, LogDirectoryFailed) as error:
        raise StartFailed(f"{error}; see `log.dirs`") from None
    except TooManyOpenFiles as error:
        raise StartFailed(f"{error}; raise the limit of open files (`ulimit -n`)") from None
    for each in disks:
        for note in each.load_report.notes if each.load_report else ():
            log.warn("a log was mended", partition=each.topic_partition, what=note)
    shortage = file_limit.shortage(file_limit.limit(), config, len(list(disks)))
    if shortage is not None:
        log.warn(shortage)
