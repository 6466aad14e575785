"""Which partitions, directories, offsets and stretches of files a read is made of."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.log_source.errors import DamagedSegment, LogSourceError, LostRecords
from barnabas.pipeline.log_source.options import parse_options
from barnabas.pipeline.log_source.pieces import pack, split
from barnabas.storage.segment.offset_index import OffsetIndex
from barnabas.storage.segment.time_index import TimeIndex

from .reads import T0_MS, a_batch, offsets, planned, rows, write_segment

ALL = list(range(30))


def a_log(path: Path, *, indexed: bool = True, name: str = "t-0", epoch: int = 0) -> Path:
    """Offsets 0 to 29 in two segments of five batches, with indexes as a broker writes them."""
    directory = path / name
    for base in (0, 15):
        batches = [a_batch(first, leader_epoch=epoch) for first in range(base, base + 15, 3)]
        log = write_segment(directory, base, *batches)
        if indexed:
            positions = list(accumulate(map(len, batches)))
            entries = [(3 * n + 2, positions[n - 1]) for n in range(1, 5)]
            index = b"".join(OffsetIndex.ENTRY.pack(*entry) for entry in entries)
            log.with_suffix(".index").write_bytes(index)
            times = [(T0_MS + 1000 * (base + offset), offset) for offset, _ in entries]
            log.with_suffix(".timeindex").write_bytes(
                b"".join(TimeIndex.ENTRY.pack(*entry) for entry in times)
            )
    return directory


def at(topic: str = "t", **partitions: int) -> str:
    return json.dumps({topic: {name[1:]: value for name, value in partitions.items()}})


# --- offsets and times -----------------------------------------------------------------


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(("start", "end"), [(0, 30), (1, 29), (4, 5), (14, 16), (15, 15), (29, 30)])
def test_ranges_of_offsets(start: int, end: int, indexed: bool, tmp_path: Path) -> None:
    a_log(tmp_path, indexed=indexed)
    found = offsets(tmp_path, startingOffsets=at(p0=start), endingOffsets=at(p0=end))
    assert found == ALL[start:end]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("first", [0, 1, 5, 14, 15, 16, 29])
def test_from_a_time_on(first: int, indexed: bool, tmp_path: Path) -> None:
    a_log(tmp_path, indexed=indexed)
    for time in (T0_MS + 1000 * first, T0_MS + 1000 * first - 1):
        assert offsets(tmp_path, startingTimestamp=str(time)) == ALL[first:]
        assert offsets(tmp_path, endingTimestamp=str(time)) == ALL[:first]
        by_partition = {"startingOffsetsByTimestamp": at(p0=time)}
        assert offsets(tmp_path, **by_partition) == ALL[first:]


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_time_index_that_lacks_its_end_hides_nothing(kept: int, tmp_path: Path) -> None:
    """As a broker leaves it that has rolled the segment and not written all of its index yet."""
    path = a_log(tmp_path) / f"{0:020d}.timeindex"
    path.write_bytes(path.read_bytes()[: kept * TimeIndex.ENTRY.size])
    for first in range(15):
        assert offsets(tmp_path, startingTimestamp=str(T0_MS + 1000 * first)) == ALL[first:]


def test_a_time_index_that_lies_is_not_believed(tmp_path: Path) -> None:
    path = a_log(tmp_path) / f"{0:020d}.timeindex"
    path.write_bytes(TimeIndex.ENTRY.pack(T0_MS, 11))
    assert offsets(tmp_path, startingTimestamp=str(T0_MS + 1000)) == ALL[1:]


def test_a_time_after_all_records(tmp_path: Path) -> None:
    a_log(tmp_path)
    later = str(T0_MS + 30_000)
    assert offsets(tmp_path, endingTimestamp=later) == ALL
    with pytest.raises(LogSourceError, match="t-0 has no record of time"):
        offsets(tmp_path, startingTimestamp=later)
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    assert offsets(tmp_path, startingTimestamp=later, **latest) == []


def test_offsets_that_are_not_there_are_said(tmp_path: Path) -> None:
    a_log(tmp_path)
    (tmp_path / "log-start-offset-checkpoint").write_text("0\n1\nt 0 4\n")
    assert offsets(tmp_path) == ALL[4:]
    with pytest.raises(LostRecords, match="offsets 1 to 3 cannot be read: the log starts at 4"):
        offsets(tmp_path, startingOffsets=at(p0=1))
    with pytest.raises(LostRecords, match="offsets 30 to 30 cannot be read: the log ends at 30"):
        offsets(tmp_path, endingOffsets=at(p0=31))
    wide = {"startingOffsets": at(p0=1), "endingOffsets": at(p0=31), "failOnDataLoss": "false"}
    assert offsets(tmp_path, **wide) == ALL[4:]


def test_offsets_are_said_of_all_partitions_or_of_none(tmp_path: Path) -> None:
    a_log(tmp_path)
    a_log(tmp_path, name="t-1")
    with pytest.raises(LogSourceError, match=r"exactly the partitions that are read.*: t-1$"):
        offsets(tmp_path, startingOffsets=at(p0=1))
    assert len(offsets(tmp_path, startingOffsets=at(p0=-2, p1=10))) == 50


# --- pieces ----------------------------------------------------------------------------


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("most_bytes", [1, 150, 300, 1 << 20])
def test_stretches_are_read_once_however_they_are_cut(
    most_bytes: int, indexed: bool, tmp_path: Path
) -> None:
    a_log(tmp_path, indexed=indexed)
    found = offsets(tmp_path, maxPartitionBytes=str(most_bytes), startingOffsets=at(p0=4))
    assert found == ALL[4:]
    pieces = planned([tmp_path], maxPartitionBytes=str(most_bytes))
    assert len(pieces) == (10 if indexed and most_bytes == 1 else len(pieces))
    assert len(pieces) >= (2 if not indexed or most_bytes > 300 else 4)


def test_an_index_that_lies_is_not_believed(tmp_path: Path) -> None:
    """Positions between batches, which no checksum guards."""
    directory = a_log(tmp_path)
    lies = b"".join(OffsetIndex.ENTRY.pack(3 * n, 97 * n) for n in range(1, 5))
    for base in (0, 15):
        (directory / f"{base:020d}.index").write_bytes(lies)
    assert offsets(tmp_path, maxPartitionBytes="1") == ALL
    assert offsets(tmp_path, startingOffsets=at(p0=10), endingOffsets=at(p0=12)) == [10, 11]


def test_small_pieces_share_a_task(tmp_path: Path) -> None:
    a_log(tmp_path)
    pieces = [part for piece in planned([tmp_path]) for part in split(piece, 1)]
    size = max(piece.size_bytes for piece in pieces)
    assert [len(together) for together in pack(pieces, 3 * size)] == [3, 3, 3, 1]
    assert [len(together) for together in pack(pieces, 1)] == [1] * 10
    assert [len(together) for together in pack(pieces, 1 << 30, most_pieces=4)] == [4, 4, 2]


def test_damage_in_the_middle_is_said_with_file_and_position(tmp_path: Path) -> None:
    path = a_log(tmp_path) / f"{15:020d}.log"
    data = bytearray(path.read_bytes())
    size = len(data) // 5
    data[2 * size + 70] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedSegment, match=rf"0015\.log is damaged at position {2 * size}: a b"):
        offsets(tmp_path)
    assert offsets(tmp_path, failOnDataLoss="false") == ALL[:21] + ALL[24:]


def test_a_length_that_is_wrong_in_the_middle_is_no_torn_end(tmp_path: Path) -> None:
    path = a_log(tmp_path) / f"{15:020d}.log"
    data = bytearray(path.read_bytes())
    size = len(data) // 5
    data[2 * size + 8] = 0x40
    path.write_bytes(data)
    with pytest.raises(DamagedSegment, match=rf"at position {2 * size}: batch size"):
        offsets(tmp_path)
    assert offsets(tmp_path, failOnDataLoss="false") == ALL[:21]


# --- directories -----------------------------------------------------------------------


def test_topics_by_list_pattern_and_partition(tmp_path: Path) -> None:
    for name in ("a-0", "a-1", "b-0", "__consumer_offsets-0", f"gone-0.{'1' * 32}-delete"):
        a_log(tmp_path, name=name)

    def found(**options: str) -> list[str]:
        return [str(piece.topic_partition) for piece in planned([tmp_path], **options)][::2]

    assert found() == ["a-0", "a-1", "b-0"]
    assert found(subscribe="b, __consumer_offsets") == ["__consumer_offsets-0", "b-0"]
    assert found(subscribePattern=".*") == ["a-0", "a-1", "b-0"]
    assert found(subscribePattern="[bc]") == ["b-0"]
    assert found(assign='{"a": [1]}') == ["a-1"]
    with pytest.raises(LogSourceError, match="there is no topic gone in"):
        found(subscribe="a,gone")
    with pytest.raises(LogSourceError, match="there is no partition a-2 in"):
        found(assign='{"a": [2]}')


def test_a_replica_of_the_newest_epoch_and_then_the_longest_is_read(tmp_path: Path) -> None:
    for broker, epoch, more in (("b1", 1, True), ("b2", 2, False), ("b3", 2, True)):
        directory = a_log(tmp_path / broker, epoch=epoch)
        (directory / "leader-epoch-checkpoint").write_text(f"0\n1\n{epoch} 0\n")
        if more:
            with (directory / f"{15:020d}.log").open("ab") as file:
                file.write(a_batch(30, leader_epoch=epoch))
    brokers = [tmp_path / name for name in ("b1", "b2", "b3")]
    assert offsets(*brokers) == [*ALL, 30, 31, 32]
    (row, *_) = rows(*brokers, includeLineage="true")
    assert "/b3/" in row["segment"]
    assert offsets(*brokers[:2]) == ALL


def test_two_topics_with_the_same_name_are_refused(tmp_path: Path) -> None:
    for broker, topic_id in (("b1", "_0Ok64bRT7Cx-VWDU1ywHw"), ("b2", "hURD6zEPTESwAT9CvIc1Xw")):
        directory = a_log(tmp_path / broker)
        (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    with pytest.raises(LogSourceError, match=r"t-0 is of several topics with the same name: .*b1"):
        offsets(tmp_path / "b1", tmp_path / "b2")


def test_directories_of_two_clusters_are_refused(tmp_path: Path) -> None:
    for broker in ("b1", "b2"):
        a_log(tmp_path / broker)
        meta = f"version=0\nbroker.id=1\ncluster.id=cluster-of-{broker}\n"
        (tmp_path / broker / "meta.properties").write_text(meta)
    with pytest.raises(LogSourceError, match=r"are of several clusters: .*cluster-of-b2"):
        offsets(tmp_path / "b1", tmp_path / "b2")


def test_what_is_no_directory_is_said(tmp_path: Path) -> None:
    with pytest.raises(LogSourceError, match="nowhere is no directory to read"):
        offsets(tmp_path / "nowhere")


def test_a_partition_that_was_never_written_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    assert offsets(tmp_path) == []
    assert offsets(tmp_path, startingOffsets=at(p0=0), endingOffsets=at(p0=0)) == []


# --- options ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"path": ""}, "no data directory is named"),
        ({"startingOffset": "earliest"}, "barnabas-log has no option startingOffset"),
        ({"subscribe": "a", "assign": "{}"}, "only one of the options subscribe and assign"),
        ({"subscribe": " , "}, "option subscribe names no topic"),
        ({"subscribePattern": "("}, "option subscribePattern is no pattern"),
        ({"assign": '{"a": "0"}'}, "option assign has no list of partitions for topic a"),
        ({"assign": "a"}, "option assign is no JSON"),
        ({"startingOffsets": "latest"}, "option startingOffsets cannot be latest"),
        ({"endingOffsets": "earliest"}, "option endingOffsets cannot be earliest"),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "option startingOffsets has -1 for a-0"),
        ({"endingOffsets": '{"a":{"0":"5"}}'}, "option endingOffsets has '0': '5' for a"),
        ({"startingTimestamp": "yesterday"}, "option startingTimestamp is 'yesterday'"),
        ({"kafka.isolation.level": "all"}, "it may be read_uncommitted or read_committed"),
        ({"includeHeaders": "yes"}, "it may be false or true"),
        ({"minPartitions": "0"}, "it is a whole number from 1 on"),
    ],
)
def test_an_option_that_is_wrong_is_said(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(LogSourceError, match=sentence.replace("(", r"\(")):
        parse_options({"path": "/data", **options})


def test_options_of_the_kafka_source_are_known_in_any_case() -> None:
    read = parse_options(
        {
            "paths": '["/a", "/b"]',
            "SUBSCRIBE": "One,two",
            "failondataloss": "FALSE",
            "kafka.bootstrap.servers": "somewhere:9092",
            "groupIdPrefix": "g",
        }
    )
    assert (read.paths, read.topics) == (("/a", "/b"), ("One", "two"))
    assert not read.fail_on_data_loss
