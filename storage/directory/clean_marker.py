"""`.kafka_cleanshutdown`: its presence says that no log of the directory needs recovery.

Written last at a clean stop and removed first at the next start. The content is JSON with
the epoch the broker had, `{"version":0,"brokerEpoch":-1}` where there is none (ZooKeeper
mode); an empty file, as Kafka before 3.8 wrote it, is as good. Source: Kafka's
CleanShutdownFileHandler (KIP-966).
"""

import json

from barnabas.storage.disk.fs import FileSystem, read_file, sync_directory, write_file

NAME = ".kafka_cleanshutdown"
NO_BROKER_EPOCH = -1


def mark(fs: FileSystem, directory: str, broker_epoch: int = NO_BROKER_EPOCH) -> None:
    """Say that every log of the directory is flushed and closed."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    write_file(fs, f"{directory}/{NAME}", content.encode())
    sync_directory(fs, directory)


def take(fs: FileSystem, directory: str) -> int | None:
    """Remove the marker and return its broker epoch; None without a marker.

    Removed before any log is touched, so that a crash from here on is not taken for a
    clean stop.
    """
    path = f"{directory}/{NAME}"
    try:
        content = read_file(fs, path)
    except FileNotFoundError:
        return None
    fs.unlink(path)
    sync_directory(fs, directory)
    return parse_broker_epoch(content)


def parse_broker_epoch(content: bytes) -> int:
    """The epoch in the marker's content, -1 where none can be read."""
    try:
        epoch = json.loads(content)["brokerEpoch"]
    except (ValueError, LookupError, TypeError):
        return NO_BROKER_EPOCH
    return epoch if isinstance(epoch, int) else NO_BROKER_EPOCH
