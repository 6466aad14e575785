"""Data directories that cannot be used when the broker starts: one sentence, or those that work."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.core.startup import StartFailed
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.server.raw_client import RawClient
from tests.server.records import LATEST, list_offset, make_batch, produce_request

without_a_directory = pytest.mark.broker_says("cannot be used", "its partitions are offline")

ONE_SENTENCE = r"^[^\n]*`log.dirs`$"
COUNT = 4


class Folders:
    """Two data directories, of which one may be taken away and brought back."""

    def __init__(self, root: Path) -> None:
        self.first, self.second = root / "first", root / "second"
        self._kept = root / "kept"

    def broker(self) -> Broker:
        return Broker({"log.dirs": f"{self.first},{self.second}"})

    def lose(self, path: Path) -> None:
        if path.exists():
            path.rename(self._kept)
        path.write_bytes(b"no directory")

    def bring_back(self, path: Path) -> None:
        path.unlink()
        self._kept.rename(path)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    return Folders(tmp_path)


def codes_of_directories(client: RawClient) -> dict[str, int]:
    results = client.call(DescribeLogDirsRequest(topics=[]), 4).results
    return {Path(each.log_dir).name: each.error_code for each in results}


def fill(client: RawClient) -> list[int]:
    """One record to each partition; the codes that came back."""
    codes = []
    for index in range(COUNT):
        answer = client.call(produce_request("t", make_batch(b"x%d" % index), index), 9)
        codes.append(answer.responses[0].partition_responses[0].error_code)
    return codes


@without_a_directory
@pytest.mark.parametrize("lost", ["first", "second"])
def test_a_new_broker_starts_on_the_directory_that_works(folders: Folders, lost: str) -> None:
    folders.lose(getattr(folders, lost))
    with folders.broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("t", COUNT)
        assert fill(client) == [0] * COUNT
        codes = codes_of_directories(client)
        assert codes.pop(lost) == ErrorCode.KAFKA_STORAGE_ERROR
        assert list(codes.values()) == [0]
    getattr(folders, lost).unlink()
    with folders.broker() as broker, RawClient(broker.port) as client:  # the registry is found
        assert fill(client) == [0] * COUNT
        assert codes_of_directories(client) == {"first": 0, "second": 0}


@without_a_directory
@pytest.mark.broker_says("a partition cannot be opened")
def test_partitions_of_a_lost_directory_are_offline_until_it_is_back(folders: Folders) -> None:
    with folders.broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("t", COUNT)
        assert fill(client) == [0] * COUNT
    there = {int(path.name.removeprefix("t-")) for path in folders.second.glob("t-*")}
    assert len(there) == COUNT // 2
    folders.lose(folders.second)
    with folders.broker() as broker, RawClient(broker.port) as client:
        lost = {index for index, code in enumerate(fill(client)) if code}
        assert lost == there
    assert not list(folders.first.glob("*-stray"))
    folders.bring_back(folders.second)
    with folders.broker() as broker, RawClient(broker.port) as client:
        for index in range(COUNT):
            end = list_offset(client, "t", LATEST, partition=index).offset
            assert end == (1 if index in there else 2)


@without_a_directory
def test_without_the_directory_of_the_registry_nothing_is_begun(folders: Folders) -> None:
    """A new registry would know of no topic, and every log would be a stray."""
    with folders.broker() as broker, RawClient(broker.port) as client:
        broker.create_topic("t", COUNT)
        assert fill(client) == [0] * COUNT
    folders.lose(folders.first)
    before = sorted(path.name for path in folders.second.iterdir())
    with pytest.raises(StartFailed, match=ONE_SENTENCE):
        folders.broker().start()
    assert sorted(path.name for path in folders.second.iterdir()) == before
    folders.bring_back(folders.first)
    with folders.broker() as broker, RawClient(broker.port) as client:
        assert fill(client) == [0] * COUNT


@without_a_directory
def test_without_any_directory_the_start_fails_with_one_sentence(folders: Folders) -> None:
    folders.lose(folders.first)
    folders.lose(folders.second)
    with pytest.raises(StartFailed, match=ONE_SENTENCE):
        folders.broker().start()


def test_another_brokers_directory_is_left_as_it_is(tmp_path: Path) -> None:
    note = tmp_path / "meta.properties"
    note.write_text("version=0\nbroker.id=3\ncluster.id=somebody-else-s-clust\n")
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(StartFailed, match=ONE_SENTENCE):
        Broker(data_dir=tmp_path).start()
    assert not (tmp_path / JOURNAL_NAME).exists()
    assert (tmp_path / "orders-0").exists()


@pytest.mark.parametrize("content", ["", "cluster.id=x\n", "version=seven\n"])
def test_a_damaged_note_of_whose_it_is(tmp_path: Path, content: str) -> None:
    (tmp_path / "meta.properties").write_text(content)
    with pytest.raises(StartFailed, match=r"meta.properties is damaged: [^\n]*`log.dirs`$"):
        Broker(data_dir=tmp_path).start()
    assert not (tmp_path / JOURNAL_NAME).exists()
