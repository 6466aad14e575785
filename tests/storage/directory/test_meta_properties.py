"""`meta.properties` of ZooKeeper and KRaft mode."""

from pathlib import Path

import pytest

from barnabas.storage.directory.meta_properties import (
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import CorruptCheckpoint, InconsistentLogDirectory

from ..golden import unpack

NOW_MS = 1795823151000


def test_reads_what_kafka_wrote(tmp_path: Path) -> None:
    zookeeper = unpack("3.9.1", "logdir", tmp_path)
    assert read_meta_properties(REAL, str(zookeeper)) == MetaProperties(
        0, 0, "PkeOrHwmTxiUDFJXfNXceA"
    )
    kraft = unpack("4.3.1", "logdir", tmp_path)
    assert read_meta_properties(REAL, str(kraft)) == MetaProperties(
        1, 1, "Z29sZGVuLWNsdXN0ZXItMQ", "6m2usXzWyHrzzZcyPB3aGA"
    )


def test_writes_as_kafka_does(tmp_path: Path) -> None:
    theirs = (unpack("3.9.1", "logdir", tmp_path) / "meta.properties").read_text()
    meta = MetaProperties(0, 0, "PkeOrHwmTxiUDFJXfNXceA")
    write_meta_properties(REAL, str(tmp_path), meta, NOW_MS)
    ours = (tmp_path / "meta.properties").read_text()
    assert ours == theirs


@pytest.mark.parametrize(
    "meta", [MetaProperties(), MetaProperties(0, 7, "c"), MetaProperties(1, 3, "a=b", "d")]
)
def test_what_is_written_is_read(meta: MetaProperties, tmp_path: Path) -> None:
    write_meta_properties(REAL, str(tmp_path), meta, NOW_MS)
    assert read_meta_properties(REAL, str(tmp_path)) == meta


@pytest.mark.parametrize("content", ["", "version=2\n", "version=0\nbroker.id=x\n"])
def test_what_makes_no_sense_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(content)
    with pytest.raises(CorruptCheckpoint, match=r"meta\.properties"):
        read_meta_properties(REAL, str(tmp_path))


def test_another_brokers_directory_is_named() -> None:
    meta = MetaProperties(0, 1, "ours")
    meta.check("/data", 1, "ours")
    meta.check("/data", None, None)
    with pytest.raises(InconsistentLogDirectory, match=r"/data/meta\.properties says broker id 1"):
        meta.check("/data", 2, "ours")
    with pytest.raises(InconsistentLogDirectory, match="cluster id ours, this broker has theirs"):
        meta.check("/data", 1, "theirs")
