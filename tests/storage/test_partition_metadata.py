"""`partition.metadata`, byte for byte."""

from pathlib import Path

import pytest

from barnabas.storage.errors import CorruptCheckpoint
from barnabas.storage.fs import REAL
from barnabas.storage.partition_metadata import read_topic_id, topic_id_text, write_topic_id

from .golden import unpack


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
