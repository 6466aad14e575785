"""AlterReplicaLogDirs: an honest no."""

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
            assert move(client, other, "t") == ErrorCode.OPERATION_NOT_ATTEMPTED
            assert move(client, tmp_path / "three", "t") == ErrorCode.LOG_DIR_NOT_FOUND
            assert move(client, "relative", "t") == ErrorCode.LOG_DIR_NOT_FOUND
            assert move(client, here, "nope") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (here / "t-0").exists()


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
