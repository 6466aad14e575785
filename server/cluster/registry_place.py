"""In which data directory the registry of a broker without ZooKeeper lies.

In the first one that works; after that, wherever its journal is found. Without the journal of the
cluster that a directory is signed for nothing is begun: a new, empty registry would disown every
log there.
"""

from collections.abc import Sequence
from pathlib import Path

from barnabas.server.core.startup import StartFailed
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME
from barnabas.storage.directory.meta_properties import read_meta_properties
from barnabas.storage.errors import CorruptCheckpoint
from barnabas.storage.manager.data_directory import DataDirectory


def journal_path(directories: Sequence[DataDirectory]) -> Path:
    """Where the journal is, or is to be, among the data directories that are locked.

    Raises StartFailed: a directory belongs to another broker, or the registry's own cannot be
    used.
    """
    paths = [Path(each.path) / JOURNAL_NAME for each in directories if each.is_online]
    for path in paths:
        if path.exists():
            return path
    for directory in directories:
        if directory.is_online and (cluster_id := _cluster_id(directory)) is not None:
            raise StartFailed(
                f"{directory.path} belongs to the cluster {cluster_id}, and no data directory that"
                f" can be used holds that cluster's {JOURNAL_NAME}: it is another broker's, or the"
                " one with the journal is missing; see `log.dirs`"
            )
    return paths[0]


def _cluster_id(directory: DataDirectory) -> str | None:
    try:
        noted = read_meta_properties(directory.fs, directory.path)
    except CorruptCheckpoint as error:
        raise StartFailed(f"{error}; see `log.dirs`") from None
    except OSError as error:
        directory.fail(error)
        return None
    return None if noted is None else noted.cluster_id
