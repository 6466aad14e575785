"""The clean shutdown marker is taken once, whichever Kafka wrote it."""

from pathlib import Path

import pytest

from barnabas.storage.directory import clean_marker
from barnabas.storage.disk.fs import REAL

from ..golden import unpack


def test_the_content_is_kafkas(tmp_path: Path) -> None:
    clean_marker.mark(REAL, str(tmp_path))
    content = (tmp_path / ".kafka_cleanshutdown").read_bytes()
    assert content == b'{"version":0,"brokerEpoch":-1}'
    golden = unpack("3.9.1", "logdir", tmp_path)
    assert content == (golden / ".kafka_cleanshutdown").read_bytes()


def test_it_is_taken_only_once(tmp_path: Path) -> None:
    clean_marker.mark(REAL, str(tmp_path), broker_epoch=77)
    assert clean_marker.take(REAL, str(tmp_path)) == 77
    assert clean_marker.take(REAL, str(tmp_path)) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"brokerEpoch":"x"}'])
def test_any_content_counts(content: bytes, tmp_path: Path) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_bytes(content)
    assert clean_marker.take(REAL, str(tmp_path)) == -1
