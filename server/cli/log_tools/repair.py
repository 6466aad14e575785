"""`barnabas log repair`: recovery of a log from its start, tried out or done.

It is the loader's own recovery, so what is said here is what a broker would do: over an overlay
for a dry run, on the disk otherwise. Only a broker starts at the recovery point, and here
nothing is taken on trust.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from barnabas.server.cli.log_tools.files import (
    DATA_DIRECTORY_KINDS,
    BadPath,
    files_in,
    is_partition_directory,
    partition_directories,
)
from barnabas.server.cli.log_tools.output import emitter, line_printer
from barnabas.server.cli.log_tools.overlay import Change, Overlay
from barnabas.server.cli.log_tools.read_only import READ_ONLY
from barnabas.server.cli.log_tools.text import Line
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.directory_names import parse_name
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.errors import CorruptCheckpoint, LogDirectoryLocked
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.setting_types import InvalidSetting

_NEVER_MS = 1 << 62  # a repair forgets no producer, however long the log has lain there


def repair(path: Path, settings: dict[str, str], *, dry_run: bool, as_json: bool) -> bool:
    """Recover the partitions of a path, and print what that changes; True if it is nothing.

    `settings` are the topics' own, as far as they matter for indexes. Raises BadPath, OSError.
    """
    top, directories = _directories(path)
    try:
        config = LogConfig().with_settings(settings)
    except InvalidSetting as error:
        raise BadPath(str(error)) from None
    starts = _log_starts(top)
    report = _Report(as_json=as_json, dry_run=dry_run)
    with _storage_is_silent(), _held(top, is_needed=not dry_run):
        for directory in directories:
            report.partition(directory, *recover(directory, config, starts, dry_run=dry_run))
    report.finish(len(directories))
    return report.changes == 0


def recover(
    directory: Path, config: LogConfig, starts: Offsets, *, dry_run: bool
) -> tuple[list[str], list[Change]]:
    """Recover one partition: what recovery said, and what it changes."""
    with TemporaryDirectory(prefix="barnabas-repair-") as scratch:
        overlay = Overlay(Path(scratch))
        notes = _open_and_close(directory, config, starts, overlay.fs)
        changes = overlay.changes(directory)
    if changes and not dry_run:
        _open_and_close(directory, config, starts, REAL)
    return notes, changes


def _open_and_close(
    directory: Path, config: LogConfig, starts: Offsets, fs: FileSystem
) -> list[str]:
    parsed = parse_name(directory.absolute().name)
    log = Log.open(
        str(directory),
        directory.name,
        config,
        int(time.time() * 1000),
        clean_shutdown=False,
        log_start_offset=0 if parsed is None else starts.get(parsed.topic_partition, 0),
        fs=fs,
        producer_id_expiration_ms=_NEVER_MS,
    )
    log.close()
    return log.load_report.notes


def _directories(path: Path) -> tuple[Path, list[Path]]:
    """The data directory and the partitions' directories that a path stands for."""
    if not path.is_dir():
        raise BadPath(f"{path}: there is no such directory")
    if is_partition_directory(path):
        return path.absolute().parent, [path]
    directories = partition_directories(path)
    if not directories:
        raise BadPath(f"{path}: neither a partition's directory nor one that holds any")
    return path, directories


def _log_starts(top: Path) -> Offsets:
    try:
        return checkpoints.read_offsets(READ_ONLY, str(top / checkpoints.LOG_START))
    except CorruptCheckpoint:
        return {}


@contextmanager
def _storage_is_silent() -> Iterator[None]:
    """What storage would log stands in the report."""
    logger = logging.getLogger("barnabas.storage")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _held(top: Path, *, is_needed: bool) -> Iterator[None]:
    """Keep brokers out of the data directory; a folder that is none needs no lock."""
    is_data_directory = any(file.kind in DATA_DIRECTORY_KINDS for file in files_in(top))
    if not is_needed or not (is_data_directory or (top / ".lock").exists()):
        yield
        return
    try:
        lock = DirectoryLock(REAL, str(top))
    except LogDirectoryLocked as error:
        raise BadPath(str(error)) from None
    try:
        yield
    finally:
        lock.release()


class _Report:
    """Prints what was, or would be, done."""

    def __init__(self, *, as_json: bool, dry_run: bool) -> None:
        self.changes = 0
        self._as_json = as_json
        self._would = "would be " if dry_run else ""
        self._emit = emitter(as_json=True)
        self._show = line_printer()

    def partition(self, directory: Path, notes: list[str], changes: list[Change]) -> None:
        """One partition's recovery."""
        self.changes += len(changes)
        if self._as_json:
            for note in notes:
                self._emit({"type": "note", "partition": directory.name, "text": note})
            for change in changes:
                self._emit({"type": "change"} | change._asdict())
            return
        for note in notes:
            self._show(Line(f"{directory.name}: {note}", "bold"))
        for change in changes:
            self._show(Line(f"  {change.name} {self._would}{_done(change)}", "yellow"))

    def finish(self, partitions: int) -> None:
        """The last line."""
        if self._as_json:
            summary = {"type": "summary", "partitions": partitions, "changes": self.changes}
            self._emit(summary)
            return
        said = "nothing to do" if self.changes == 0 else f"files changed: {self.changes}"
        if self.changes and self._would:
            said = f"files that would be changed: {self.changes}"
        self._show(Line(f"{said} (partitions: {partitions})", "bold"))


def _done(change: Change) -> str:
    before, after = change.size_before, change.size_after
    match change.action:
        case "cut":
            return f"cut from {before} to {after} bytes"
        case "create":
            return f"created, {after} bytes"
        case "rewrite":
            return f"made anew, {before} to {after} bytes"
        case "remove":
            return f"removed, {before} bytes"
