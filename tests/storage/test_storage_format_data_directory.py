"""The examples of `docs/storage-format.md` that show a data directory's own files are true."""

import re
from pathlib import Path

from barnabas.storage.directory.clean_marker import NAME as CLEAN_SHUTDOWN
from barnabas.storage.directory.clean_marker import mark, take
from barnabas.storage.directory.meta_properties import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.directory.partition_metadata import (
    read_topic_id,
    topic_id_text,
    write_topic_id,
)
from barnabas.storage.disk.fs import REAL

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "storage-format.md"
WRITTEN_MS = 1_795_823_151_000


def example(name: str) -> str:
    """The text of the fenced block ```text <name>."""
    block = re.search(rf"^```text {re.escape(name)}\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)
    assert block, name
    return block[1]


def test_meta_properties(tmp_path: Path) -> None:
    text = example("meta.properties")
    (tmp_path / "meta.properties").write_text(text)
    meta = read_meta_properties(REAL, str(tmp_path))
    assert meta == MetaProperties(0, 0, "PkeOrHwmTxiUDFJXfNXceA")
    write_meta_properties(REAL, str(tmp_path), meta, WRITTEN_MS)
    assert (tmp_path / "meta.properties").read_text() == text


def test_clean_shutdown(tmp_path: Path) -> None:
    text = example("clean-shutdown")
    mark(REAL, str(tmp_path))
    assert (tmp_path / CLEAN_SHUTDOWN).read_text() == text.rstrip("\n")
    assert take(REAL, str(tmp_path)) == -1


def test_partition_metadata(tmp_path: Path) -> None:
    text = example("partition.metadata").rstrip("\n")
    (tmp_path / "partition.metadata").write_text(text)
    topic_id = read_topic_id(REAL, str(tmp_path))
    assert topic_id is not None
    assert topic_id_text(topic_id) == "_0Ok64bRT7Cx-VWDU1ywHw"
    (tmp_path / "partition.metadata").unlink()
    write_topic_id(REAL, str(tmp_path), topic_id)
    assert (tmp_path / "partition.metadata").read_text() == text
