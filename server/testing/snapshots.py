"""Snapshots of a broker: its whole data directory, cheap to take and to go back to.

A closed segment's files never change again, so they are linked, on one file system; what may
still be written is copied. The broker is stopped while that happens, which is what makes the
copy whole.
"""

import errno
import os
import shutil
from pathlib import Path

SEGMENT_FILES = {".log", ".index", ".timeindex", ".txnindex"}
MARK = "meta.properties"  # in every data directory that a broker has used


def is_snapshot(directory: Path) -> bool:
    """Whether a broker's data is in there."""
    return (directory / MARK).is_file()


def is_taken(directory: Path) -> bool:
    """Whether something is there already, where a snapshot should go."""
    return directory.exists()


def take_snapshot(data_dir: Path, target: Path) -> None:
    """Put a copy of a stopped broker's data into `target`, which is made. Raises OSError."""
    target.mkdir(parents=True)
    try:
        _copy_tree(data_dir, target)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def put_back(source: Path, data_dir: Path) -> None:
    """Replace a stopped broker's data by a snapshot. Raises OSError."""
    for entry in data_dir.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    _copy_tree(source, data_dir)


def _copy_tree(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            _copy_partition(entry, target / entry.name)
        else:
            shutil.copy2(entry, target / entry.name)


def _copy_partition(source: Path, target: Path) -> None:
    target.mkdir()
    active = max((entry.stem for entry in source.glob("*.log")), default="")
    for entry in sorted(source.iterdir()):
        if entry.suffix in SEGMENT_FILES and entry.stem < active:
            _link(entry, target / entry.name)
        else:
            shutil.copy2(entry, target / entry.name)


def _link(source: Path, target: Path) -> None:
    """A second name for a file, or a copy where the file system has no such thing."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        shutil.copy2(source, target)
