"""Apache Kafka's dump tool finds nothing wrong in directories that we wrote, and our records.

`--print-data-log` on the logs, `--verify-index-only` on every index, and producer snapshots.
"""

import re
from contextlib import closing
from pathlib import Path

import pytest
from dump_tool import TOOLS, dump, records_of, shown
from our_logs import Contents, write_data_directory
from partition_writer import NOW_MS
from raw_producer import RawProducer, batch_of

import barnabas
from barnabas.storage.batch.records import decode_all
from barnabas.storage.producers.snapshot import parse_snapshot
from barnabas.storage.segment.transaction_index import ENTRY


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Contents]:
    path = tmp_path_factory.mktemp("ours")
    return path, write_data_directory(path)


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("jars", TOOLS)
def test_logs(jars: str, ours: tuple[Path, Contents]) -> None:
    """The only thing it remarks on are the offsets that compaction took away."""
    root, contents = ours
    paths = sorted(root.glob("*/*.log"))
    dumped = dump(jars, paths, "--print-data-log", "--deep-iteration")
    assert {file.split("-")[0] for file in gaps(dumped.complaints)} == {"compacted"}
    assert set(dumped.files) == {named(path) for path in paths}
    for path in paths:
        lines = dumped.files[named(path)]
        assert not [line for line in lines if "isvalid: false" in line]
        assert f"Log starting offset: {int(path.stem)}" in lines
        records = decode_all(path.read_bytes())
        assert records_of(lines) == [shown(record) for record in records], path
    assert sum(len(written.records) for written in contents.values()) > 6000


@pytest.mark.parametrize("jars", TOOLS)
def test_the_active_segment_of_a_running_broker(jars: str, tmp_path: Path) -> None:
    """All of its files are there from the first record on: 3.9.1 throws if an index is not."""
    with barnabas.Broker(data_dir=tmp_path) as broker:
        broker.create_topic("t")
        with closing(RawProducer(broker.bootstrap_servers)) as producer:
            for size in range(20):
                producer.append("t", 1, batch_of([size, size], NOW_MS))
        paths = sorted((tmp_path / "t-0").glob("0*"))
        assert [path.suffix for path in paths] == [".index", ".log", ".timeindex"]
        dumped = dump(jars, paths, "--print-data-log")
    assert dumped.complaints == [] and set(dumped.files) == {named(path) for path in paths}
    records = list(decode_all(paths[1].read_bytes()))
    assert records_of(dumped.files[named(paths[1])]) == [shown(record) for record in records]
    assert len(records) == 40


def gaps(complaints: list[str]) -> dict[str, list[str]]:
    """Jumps between offsets, by file; nothing else must have been said.

    Kafka 4.x takes -1 for the offset before a segment's first, whatever its name.
    """
    found: dict[str, list[str]] = {}
    for line in complaints:
        if line.startswith("Non-consecutive offsets in "):
            file = named(Path(line.removeprefix("Non-consecutive offsets in ")))
        else:
            assert re.fullmatch(r"  -?\d+ is followed by \d+", line), line
            if not line.startswith("  -1 "):
                found.setdefault(file, []).append(line)
    return found


@pytest.mark.parametrize("jars", TOOLS)
def test_indexes_and_snapshots(jars: str, ours: tuple[Path, Contents], tmp_path: Path) -> None:
    """Among them is one that is wrong, to see that the tool would say so."""
    root, _ = ours
    wrong = tmp_path / "wrong-0"
    wrong.mkdir()
    for path in sorted((root / "idempotent-0").glob("00000000000000000000.*")):
        (wrong / path.name).write_bytes(path.read_bytes())
    index = wrong / "00000000000000000000.index"
    content = bytearray(index.read_bytes())
    content[3] += 1  # the offset of an entry
    index.write_bytes(content)
    indexes = [path for path in sorted(root.glob("*/*")) if path.name.endswith("index")]
    snapshots = sorted(root.glob("*/*.snapshot"))
    dumped = dump(jars, [*indexes, *snapshots, index], "--verify-index-only")
    assert dumped.complaints != []
    assert {line.startswith("  ") or "wrong-0" in line for line in dumped.complaints} == {True}
    for path in indexes:
        lines = dumped.files[named(path)]
        if path.suffix == ".txnindex":
            assert len(lines) == len(path.read_bytes()) // ENTRY.size
        else:
            assert lines in ([], [f"{path} is empty."])
    for path in snapshots:
        assert len(dumped.files[named(path)]) == len(parse_snapshot(path.read_bytes()))
    assert sum(path.stat().st_size for path in indexes) > 1000
