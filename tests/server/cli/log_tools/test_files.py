"""What a path stands for."""

from pathlib import Path

import pytest

from barnabas.server.cli.log_tools.files import (
    BadPath,
    Kind,
    classify,
    find_files,
    is_partition_directory,
    partition_directories,
)
from tests.server.cli.log_tools.command import run_log
from tests.server.cli.log_tools.written import write_log

STEM = "00000000000000000042"


@pytest.mark.parametrize(
    ("name", "kind", "base_offset"),
    [
        (f"{STEM}.log", Kind.LOG, 42),
        (f"{STEM}.index", Kind.INDEX, 42),
        (f"{STEM}.timeindex.deleted", Kind.TIME_INDEX, 42),
        (f"{STEM}.txnindex.cleaned", Kind.TRANSACTION_INDEX, 42),
        (f"{STEM}.log.swap", Kind.LOG, 42),
        (f"{STEM}.snapshot", Kind.SNAPSHOT, 42),
        ("leader-epoch-checkpoint", Kind.EPOCHS, 0),
        ("partition.metadata", Kind.PARTITION_METADATA, 0),
        (f"{STEM}-0000000007.checkpoint", Kind.RAFT_SNAPSHOT, 42),
    ],
)
def test_files_of_a_partition(name: str, kind: Kind, base_offset: int) -> None:
    file = classify(Path("data/my-topic-3") / name)
    assert file is not None
    assert (file.kind, file.base_offset, file.name) == (kind, base_offset, f"my-topic-3/{name}")
    assert (file.topic, file.topic_partition) == ("my-topic", ("my-topic", 3))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("recovery-point-offset-checkpoint", Kind.CHECKPOINT),
        ("meta.properties", Kind.META_PROPERTIES),
        (".kafka_cleanshutdown", Kind.CLEAN_SHUTDOWN),
    ],
)
def test_files_of_a_data_directory(name: str, kind: Kind) -> None:
    file = classify(Path("logs-1") / name)
    assert file is not None
    assert (file.kind, file.name, file.topic_partition) == (kind, name, None)


@pytest.mark.parametrize("name", [".lock", "42.log", f"{STEM}.txt", "notes.log", f"{STEM}.log.bak"])
def test_other_files(name: str) -> None:
    assert classify(Path("my-topic-3") / name) is None


def test_a_data_directory_may_be_called_like_a_partition(tmp_path: Path) -> None:
    data = tmp_path / "logs-1"
    write_log(data / "orders-0")
    assert not is_partition_directory(data)
    assert is_partition_directory(data / "orders-0")
    (tmp_path / "logs-2").mkdir()
    (tmp_path / "logs-2" / "meta.properties").write_text("version=0\n")
    assert not is_partition_directory(tmp_path / "logs-2")
    ran = run_log("verify", data)
    assert ran.output == "no problems (1 partitions, 3 segments, 18 batches)\n"


def test_a_partition_that_was_never_written_to(tmp_path: Path) -> None:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    assert is_partition_directory(directory)
    assert run_log("verify", directory).code == 0
    with pytest.raises(BadPath, match="no segment"):
        find_files(directory)


def test_a_segment_outside_of_any_partition(tmp_path: Path) -> None:
    write_log(tmp_path / "orders-0")
    found = tmp_path / "found"
    (tmp_path / "orders-0").rename(found)
    assert is_partition_directory(found)
    assert {file.topic for file in find_files(found)} == {""}
    assert find_files(found)[0].name == "00000000000000000000.log"


def test_deleted_partitions_are_left_out(tmp_path: Path) -> None:
    for name in ("b-0", "a-10", "a-2", f"c-0.{'0' * 32}-delete", f"d-0.{'0' * 32}-stray", "plain"):
        (tmp_path / name).mkdir()
    (tmp_path / "file-0").write_text("")
    names = [path.name for path in partition_directories(tmp_path)]
    assert names == ["a-2", "a-10", "b-0", f"d-0.{'0' * 32}-stray"]
