"""AlterReplicaLogDirs: where replicas are to lie, and what is answered."""

from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until


def move(client: RawClient, path: Path | str, topic: str, version: int = 2) -> int:
    wanted = AlterReplicaLogDir(
        path=str(path), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])]
    )
    answer = client.call(AlterReplicaLogDirsRequest(dirs=[wanted]), version)
    (result,) = answer.results
    assert result.topic_name == topic
    code: int = result.partitions[0].error_code
    return code


def test_where_replicas_can_lie(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with Broker({"log.dirs": f"{paths[0]},{paths[1]}"}) as broker:
        broker.create_topic("t")
        here, other = paths if (paths[0] / "t-0").exists() else reversed(paths)
        with RawClient(broker.port) as client:
            for version in range(3):
                assert move(client, here, "t", version) == 0
            assert move(client, tmp_path / "three", "t") == ErrorCode.LOG_DIR_NOT_FOUND
            assert move(client, "relative", "t") == ErrorCode.LOG_DIR_NOT_FOUND
            assert move(client, here, "nope") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert move(client, here, "x" * 240) == ErrorCode.INVALID_TOPIC_EXCEPTION
            assert (here / "t-0").exists()
            assert move(client, other, "t") == 0
            wait_until(lambda: (other / "t-0").exists() and not (here / "t-0").exists())


def test_a_directory_is_known_by_the_path_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the setting has it relative to where the broker was started."""
    monkeypatch.chdir(tmp_path)
    with Broker({"log.dirs": "logs"}) as broker, RawClient(broker.port) as client:
        broker.create_topic("t")
        told = client.call(DescribeLogDirsRequest(topics=None), 4).results[0].log_dir
        assert told == str(tmp_path / "logs")
        for path in (told, f"{told}/"):
            assert move(client, path, "t") == 0
        assert move(client, "logs", "t") == ErrorCode.LOG_DIR_NOT_FOUND


def test_a_replica_that_is_not_here_yet_is_made_where_it_was_wanted(tmp_path: Path) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    with Broker({"log.dirs": f"{paths[0]},{paths[1]}"}) as broker:
        with RawClient(broker.port) as client:
            for number in range(4):
                name = f"later{number}"
                assert move(client, paths[1], name) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                broker.create_topic(name)
                assert (paths[1] / f"{name}-0").exists()


@pytest.mark.broker_says("planted; its partitions are offline", "a data directory failed")
def test_a_directory_that_has_failed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "two", "three")]
    with (
        Broker({"log.dirs": ",".join(map(str, paths))}) as broker,
        RawClient(broker.port) as client,
    ):
        for name in "abc":
            broker.create_topic(name)
        (lost,) = paths[2].glob("?-0")
        here = next(path for path in paths[:2] if list(path.glob("?-0")))
        (kept,) = here.glob("?-0")
        broker.run(fail(broker, paths[2]))
        assert move(client, paths[2], kept.name[0]) == ErrorCode.KAFKA_STORAGE_ERROR
        assert move(client, here, lost.name[0]) == ErrorCode.KAFKA_STORAGE_ERROR
        assert move(client, here, kept.name[0]) == 0
        # It may hold one that is half filled.
        other = next(path for path in paths[:2] if path != here)
        assert move(client, other, kept.name[0]) == ErrorCode.KAFKA_STORAGE_ERROR


async def fail(broker: Broker, path: Path) -> None:
    for directory in broker.server.disks.directories:
        if directory.path == str(path):
            directory.fail(OSError("planted"))
