"""The worked examples of `docs/storage-format.md` that show a segment's files are true."""

import re
from pathlib import Path

import pytest

from barnabas.storage.directory import (
    checkpoints,
    clean_marker,
    meta_properties,
    partition_metadata,
)
from barnabas.storage.directory.checkpoints import build_offsets, parse_offsets
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.producers.leader_epochs import parse_epochs
from barnabas.storage.producers.snapshot import parse_snapshot

from .logs import NOW_MS, a_batch, append, end_transaction, file_name, open_log
from .test_storage_format_batches import DOCUMENT, example


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log that the document speaks of."""
    folder = tmp_path_factory.mktemp("example")
    log = open_log(folder, segment_bytes=10_000, index_interval_bytes=100)
    log.truncate_fully_and_start_at(368, NOW_MS)
    for number in range(4):
        batch = a_batch(
            2,
            timestamp=NOW_MS + 250 * number,
            producer_id=9,
            epoch=1,
            sequence=2 * number,
            transactional=True,
        )
        append(log, batch, leader_epoch=3 + number // 2)
    end_transaction(log, 9, commit=False, epoch=1, leader_epoch=4)
    append(log, a_batch(timestamp=NOW_MS + 2000, producer_id=9, epoch=1, sequence=8), 4)
    append(
        log, a_batch(timestamp=NOW_MS + 2500, producer_id=1000, sequence=0, transactional=True), 4
    )
    log.roll(NOW_MS)
    return folder / "t-0"


@pytest.mark.parametrize("extension", ["index", "timeindex", "txnindex"])
def test_indexes(directory: Path, extension: str) -> None:
    assert (directory / file_name(368, extension)).read_bytes() == example(extension)


def test_snapshot(directory: Path) -> None:
    data = example("snapshot")
    assert (directory / file_name(379, "snapshot")).read_bytes() == data
    first, second = parse_snapshot(data)
    assert (first.producer_id, first.last_data_offset, second.last_sequence) == (1000, 378, 8)


def text_example(name: str) -> str:
    """The content of the fenced block ```text <name>."""
    block = re.search(rf"^```text {name}\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)
    assert block, name
    return block[1]


def test_leader_epochs(directory: Path) -> None:
    text = text_example("leader-epoch-checkpoint")
    assert (directory / "leader-epoch-checkpoint").read_text() == text
    assert parse_epochs(text.encode()) == [(3, 368), (4, 372)]


def test_checkpoint() -> None:
    text = text_example("checkpoint")
    offsets = {TopicPartition("orders", 0): 1017, TopicPartition("orders", 1): 998}
    assert parse_offsets("checkpoint", text.splitlines()) == offsets
    assert build_offsets(offsets).decode() == text


def test_every_file_of_a_data_directory_is_described() -> None:
    document = DOCUMENT.read_text()
    for module in (meta_properties, clean_marker, partition_metadata):
        assert f"`{module.NAME}`" in document
    for name in (checkpoints.RECOVERY_POINT, checkpoints.REPLICATION, checkpoints.LOG_START):
        assert f"`{name}`" in document


def test_every_file_of_a_segment_is_described(directory: Path) -> None:
    document = DOCUMENT.read_text()
    for path in directory.iterdir():
        name = re.sub(r"^\d{20}\.", ".", path.name)
        assert name in document
