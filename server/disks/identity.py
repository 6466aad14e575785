"""Which broker the data directories belong to, before anything else of them is looked at."""

from barnabas.storage.directory.meta_properties import read_meta_properties
from barnabas.storage.errors import CorruptCheckpoint
from barnabas.storage.manager.log_manager import LogManager


def noted_broker_id(disks: LogManager) -> int | None:
    """The id in the first `meta.properties` that has one; None for new directories.

    What cannot be read, or does not fit, is complained of when the directories are opened.
    """
    for directory in disks.directories:
        try:
            noted = read_meta_properties(disks.fs, directory.path)
        except (CorruptCheckpoint, OSError):
            continue
        if noted is not None and noted.broker_id is not None:
            return noted.broker_id
    return None
