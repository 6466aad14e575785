"""DescribeLogDirs: what lies where."""

from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce

Wanted = list[tuple[str, list[int]]] | None


def described(client: RawClient, wanted: Wanted, version: int = 5) -> list[DescribeLogDirsResult]:
    topics = None
    if wanted is not None:
        topics = [DescribableLogDirTopic(topic=t, partitions=p) for t, p in wanted]
    answer = client.call(DescribeLogDirsRequest(topics=topics), version)
    assert answer.error_code == 0
    results: list[DescribeLogDirsResult] = answer.results
    return results


def partitions(results: list[DescribeLogDirsResult]) -> dict[tuple[str, int], int]:
    """Sizes by partition."""
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for result in results
        for topic in result.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(6))
def test_sizes_are_those_of_the_files(broker: Broker, client: RawClient, version: int) -> None:
    name = broker.create_topic(f"v{version}", 2)
    produce(client, name, make_batch(b"x" * 100))
    (result,) = described(client, [(name, [0, 1])], version)
    assert (result.error_code, result.log_dir) == (0, str(broker.data_dir))
    log = broker.data_dir / f"{name}-0" / "00000000000000000000.log"
    assert partitions([result]) == {(name, 0): log.stat().st_size, (name, 1): 0}
    (topic,) = result.topics
    assert {(p.offset_lag, p.is_future_key) for p in topic.partitions} == {(0, False)}
    if version >= 4:
        assert 0 < result.usable_bytes <= result.total_bytes


def test_which_partitions_are_described(broker: Broker, client: RawClient) -> None:
    broker.create_topic("some", 3)
    assert set(partitions(described(client, [("some", [1, 9]), ("nope", [0])]))) == {("some", 1)}
    assert partitions(described(client, [("some", [])])) == {}
    assert partitions(described(client, [])) == {}
    assert {("some", 0), ("some", 1), ("some", 2)} <= set(partitions(described(client, None)))


def test_several_directories(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with Broker({"log.dirs": f"{paths[0]},{paths[1]}"}) as broker:
        broker.create_topic("spread", 4)
        with RawClient(broker.port) as client:
            results = described(client, None)
    assert [result.log_dir for result in results] == [str(path) for path in paths]
    assert [len(partitions([result])) for result in results] == [2, 2]
