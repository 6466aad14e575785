"""`partition.metadata`, byte for byte."""

from pathlib import Path

import pytest

from barnabas.storage.directory.partition_metadata import (
    read_topic_id,
    sync_topic_ids,
    topic_id_text,
    write_topic_id,
)
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.errors import CorruptCheckpoint

from ..golden import unpack


def test_kafkas_file_is_read_and_written_again_the_same(tmp_path: Path) -> None:
    partition = unpack("3.9.1", "compacted-after", tmp_path) / "compacted-0"
    topic_id = read_topic_id(REAL, str(partition))
    assert topic_id is not None and topic_id_text(topic_id) == "_0Ok64bRT7Cx-VWDU1ywHw"
    write_topic_id(REAL, str(tmp_path), topic_id)
    theirs = (partition / "partition.metadata").read_bytes()
    assert (tmp_path / "partition.metadata").read_bytes() == theirs


def test_no_file_no_id(tmp_path: Path) -> None:
    assert read_topic_id(REAL, str(tmp_path)) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"version: 1\ntopic_id: _0Ok64bRT7Cx-VWDU1ywHw", b"version: 0\n",
     b"version: 0\ntopic_id: short", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
     b"version: 0\ntopic_id: \xff\xff"],
)  # fmt: skip
def test_what_is_no_id_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_bytes(content)
    with pytest.raises(CorruptCheckpoint, match=r"partition\.metadata"):
        read_topic_id(REAL, str(tmp_path))


def test_ids_are_synced_with_their_names_and_a_missing_one_is_none(tmp_path: Path) -> None:
    synced: list[str] = []

    def fsync(fd: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{fd}").readlink().relative_to(tmp_path)))

    for name in ("a-0", "b-0"):
        (tmp_path / name).mkdir()
        write_topic_id(REAL, str(tmp_path / name), bytes(range(16)))
    directories = [str(tmp_path / name) for name in ("a-0", "gone-0", "b-0")]
    sync_topic_ids(FileSystem(fsync=fsync), directories)
    assert synced == ["a-0/partition.metadata", "a-0", "b-0/partition.metadata", "b-0"]
