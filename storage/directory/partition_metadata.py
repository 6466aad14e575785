"""`partition.metadata`: the id of the topic a partition's directory belongs to (KIP-516).

    version: 0
    topic_id: _0Ok64bRT7Cx-VWDU1ywHw

The id is 16 bytes in URL-safe base64 without padding; there is no newline at the end.
Source: Kafka's PartitionMetadataFile.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from functools import lru_cache

from barnabas.storage.disk.fs import FileSystem, read_file, sync_directory, sync_file, write_file
from barnabas.storage.errors import CorruptCheckpoint

NAME = "partition.metadata"
_ID_BYTES = 16


def topic_id_text(topic_id: bytes) -> str:
    """A topic id as Kafka prints it."""
    return urlsafe_b64encode(topic_id).decode().rstrip("=")


def write_topic_id(fs: FileSystem, directory: str, topic_id: bytes) -> None:
    """Note the topic's id in a partition's directory, which had none.

    `sync_topic_ids` has to follow: topics are created by the thousand, and who creates them
    does not wait for the disk. Whoever loses the file to a power cut is told the id again.
    """
    content = f"version: 0\ntopic_id: {topic_id_text(topic_id)}"
    write_file(fs, f"{directory}/{NAME}", content.encode(), sync=False)


def sync_topic_ids(fs: FileSystem, directories: Iterable[str]) -> None:
    """Make the noted ids durable; a directory that is gone by now is none to sync."""
    for directory in directories:
        try:
            sync_file(fs, f"{directory}/{NAME}")
            sync_directory(fs, directory)
        except FileNotFoundError:
            continue


def read_topic_id(fs: FileSystem, directory: str) -> bytes | None:
    """The topic id noted in a partition's directory, None if there is none.

    Raises CorruptCheckpoint if the file says something else.
    """
    path = f"{directory}/{NAME}"
    try:
        content = read_file(fs, path)
    except FileNotFoundError:
        return None
    try:
        return _parse(content)
    except ValueError as error:
        raise CorruptCheckpoint(f"{path}: {error} in {content[:80]!r}") from None


@lru_cache(256)  # all partitions of a topic have the same
def _parse(content: bytes) -> bytes:
    fields = dict(line.split(b": ", 1) for line in content.splitlines() if b": " in line)
    if fields.get(b"version") != b"0":
        raise ValueError("no version 0")
    try:
        topic_id = urlsafe_b64decode(fields[b"topic_id"] + b"==")
    except (KeyError, ValueError):
        raise ValueError("no topic id") from None
    if len(topic_id) != _ID_BYTES or topic_id == bytes(_ID_BYTES):
        raise ValueError("not a topic id")
    return topic_id
