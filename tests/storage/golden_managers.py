"""Golden directories opened by a log manager, as a broker opens its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from barnabas.storage.batch.header import walk
from barnabas.storage.directory import clean_marker
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import SETTINGS, LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog
from tests.storage.golden import CASES, manifest, unpack

NOW_MS = 1_700_000_000_000
FOREVER_MS = 1 << 60
SOUND = [case for case in CASES if case[1] != "torn-1-damaged"]
CLEAN = [case for case in SOUND if not case[1].startswith(("torn-0", "epochs-1"))]
"""Cases whose brokers were stopped in good order."""


def data_directories(root: Path) -> list[Path]:
    return sorted(root.glob("b[0-9]")) or [root]


def open_manager(directory: Path, version: str, case: str, *, clean: bool) -> LogManager:
    """As a broker would with the topics' settings; producers are not forgotten."""
    if clean:
        clean_marker.mark(REAL, str(directory))
    elif (directory / clean_marker.NAME).exists():
        (directory / clean_marker.NAME).unlink()
    configs = manifest(version, case)["topic_configs"]
    settings = LogManagerConfig(producer_id_expiration_ms=FOREVER_MS)
    manager = LogManager([str(directory)], settings)
    manager.open(lambda topic: config_of(topic, configs), NOW_MS)
    for log in manager:
        log.update_high_watermark(log.log_end_offset)
    return manager


def config_of(topic: str, configs: dict[str, dict[str, str]]) -> LogConfig:
    """The topic's settings, without the note of where its replicas were put."""
    own = {name: value for name, value in configs.get(topic, {}).items() if name in SETTINGS}
    return LogConfig(index_interval_bytes=100).with_settings(own)


def files_of(root: Path, log: ManagedLog, version: str, case: str) -> dict[str, dict[str, Any]]:
    prefix = str(Path(log.directory).relative_to(root))
    return {
        Path(name).name: facts
        for name, facts in manifest(version, case)["files"].items()
        if str(Path(name).parent) == prefix
    }


def batches_of(log: Log, bound: ReadBound = ReadBound.LOG_END) -> Iterator[tuple[bytes, Any]]:
    """Every batch that can be read, with the header; as a fetch reads them, one by one."""
    offset = log.log_start_offset
    while True:
        found = log.read(offset, 1, bound=bound).records
        if found is None:
            return
        data = found.read()
        (header,) = walk(data)
        yield data, header
        offset = header.next_offset


def opened(
    version: str, case: str, tmp_path: Path, *, clean: bool = True
) -> Iterator[tuple[Path, LogManager]]:
    root = unpack(version, case, tmp_path)
    for directory in data_directories(root):
        manager = open_manager(directory, version, case, clean=clean)
        yield root, manager
        manager.abandon()
