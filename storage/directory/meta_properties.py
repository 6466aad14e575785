"""`meta.properties`: which broker of which cluster a data directory belongs to.

Version 0 (ZooKeeper mode) has `broker.id` and `cluster.id`; version 1 (KRaft) has `node.id`,
`cluster.id` and usually `directory.id`. Both are read, version 0 is written for a new
directory, and an existing file is left as it is. Source: Kafka's MetaProperties (KIP-631,
KIP-858).
"""

import time
from dataclasses import dataclass

from barnabas.storage.directory import java_properties
from barnabas.storage.disk.fs import FileSystem, read_file, replace_file
from barnabas.storage.errors import CorruptCheckpoint, InconsistentLogDirectory

NAME = "meta.properties"


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """The identity noted in a data directory; what is not noted is None."""

    version: int = 0
    broker_id: int | None = None
    cluster_id: str | None = None
    directory_id: str | None = None

    def check(self, directory: str, broker_id: int | None, cluster_id: str | None) -> None:
        """Raises InconsistentLogDirectory if the directory is another broker's or cluster's."""
        for name, noted, wanted in (
            ("broker id", self.broker_id, broker_id),
            ("cluster id", self.cluster_id, cluster_id),
        ):
            if noted is not None and wanted is not None and noted != wanted:
                raise InconsistentLogDirectory(
                    f"{directory}/{NAME} says {name} {noted}, this broker has {wanted}: "
                    "it is another broker's data directory"
                )


def read_meta_properties(fs: FileSystem, directory: str) -> MetaProperties | None:
    """The identity noted in a data directory, None without the file.

    Raises CorruptCheckpoint.
    """
    path = f"{directory}/{NAME}"
    try:
        content = read_file(fs, path)
    except FileNotFoundError:
        return None
    try:
        return _interpret(java_properties.parse(content.decode("latin-1")))
    except ValueError as error:
        raise CorruptCheckpoint(f"{path} is damaged: {error}") from None


def _interpret(properties: dict[str, str]) -> MetaProperties:
    if "version" not in properties:
        raise ValueError("it has no version")
    version = int(properties["version"])
    if version not in (0, 1):
        raise ValueError(f"version {version}, only 0 and 1 are known")
    broker_id = properties.get("broker.id" if version == 0 else "node.id")
    return MetaProperties(
        version,
        None if broker_id is None else int(broker_id),
        properties.get("cluster.id"),
        properties.get("directory.id"),
    )


def write_meta_properties(
    fs: FileSystem, directory: str, meta: MetaProperties, now_ms: int
) -> None:
    """Note the identity; `now_ms` only dates the comment at the top."""
    fields = {
        "broker.id" if meta.version == 0 else "node.id": meta.broker_id,
        "directory.id": meta.directory_id,
        "version": meta.version,
        "cluster.id": meta.cluster_id,
    }
    properties = {name: str(value) for name, value in fields.items() if value is not None}
    date = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(now_ms / 1000))
    replace_file(fs, f"{directory}/{NAME}", java_properties.build(properties, date).encode())
