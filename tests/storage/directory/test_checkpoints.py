"""Checkpoint files: Kafka's text, replaced whole, refused with the line that is wrong."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import CorruptCheckpoint

from ..golden import unpack

TOPICS = st.from_regex("[a-zA-Z0-9._-]{1,249}", fullmatch=True)


def test_the_format(tmp_path: Path) -> None:
    path = tmp_path / checkpoints.REPLICATION
    offsets = {TopicPartition("orders", 0): 1017, TopicPartition("a-b.c_d", 12): 0}
    checkpoints.write_offsets(REAL, str(path), offsets)
    assert path.read_bytes() == b"0\n2\norders 0 1017\na-b.c_d 12 0\n"
    assert checkpoints.read_offsets(REAL, str(path)) == offsets


def test_absent_or_empty_means_no_offsets(tmp_path: Path) -> None:
    assert checkpoints.read_offsets(REAL, str(tmp_path / "none")) == {}
    (tmp_path / "empty").write_bytes(b"")
    assert checkpoints.read_offsets(REAL, str(tmp_path / "empty")) == {}


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_reads_what_kafka_wrote(version: str, tmp_path: Path) -> None:
    directory = unpack(version, "logdir", tmp_path)
    recovery = checkpoints.read_offsets(REAL, str(directory / checkpoints.RECOVERY_POINT))
    assert len(recovery) == 29
    assert recovery[TopicPartition("__transaction_state", 1)] == 30
    assert checkpoints.read_offsets(REAL, str(directory / checkpoints.LOG_START)) == {}
    assert checkpoints.read_offsets(REAL, str(directory / checkpoints.CLEANER)) == {}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"1\n0\n", "version '1'"),
        (b"0\n", "line 2"),
        (b"0\nx\n", "line 2"),
        (b"0\n2\nt 0 1\n", "line 2 does not count the 1 lines"),
        (b"0\n1\nt 0\n", "line 3 is not topic, partition, offset: 't 0'"),
        (b"0\n1\nt 0 1 2\n", "line 3"),
        (b"0\n1\nt x 1\n", "line 3"),
        (b"0\n1\nt 0 9223372036854775808\n", "line 3"),
        (b"0\n1\n\xff 0 1\n", "can't decode"),
    ],
)
def test_what_is_wrong_is_said(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(CorruptCheckpoint, match=complaint):
        checkpoints.read_offsets(REAL, str(tmp_path / "file"))


@given(
    st.dictionaries(
        st.builds(TopicPartition, TOPICS, st.integers(0, 99)), st.integers(0, 2**63 - 1)
    )
)
def test_what_is_written_is_read(offsets: checkpoints.Offsets) -> None:
    lines = ["0", str(len(offsets)), *(f"{t} {p} {o}" for (t, p), o in offsets.items())]
    assert checkpoints.parse_offsets("file", lines) == offsets
