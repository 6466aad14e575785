"""A data directory that fails takes the groups of its partitions along."""

import time
from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from tests.server.group_requests import Member
from tests.server.waiting import PATIENCE_S


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
def test_members_are_sent_away_from_a_failed_directory(tmp_path: Path) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    settings = {"log.dirs": ",".join(map(str, directories)), "offsets.topic.num.partitions": 2}
    with Broker(settings, data_dir=tmp_path / "c") as broker:
        with Member(broker, "g") as first, Member(broker, "h") as second:
            first.settle()
            second.settle()
            server = broker.server
            shard = server.groups.shards.find(server.groups.partition_of("g"))
            assert shard is not None
            failed = shard.partition.log.data_directory
            broker.call(lambda: failed.fail(OSError(5, "Input/output error")))
            deadline = time.monotonic() + PATIENCE_S
            while first.heartbeat() != ErrorCode.NOT_COORDINATOR:
                assert time.monotonic() < deadline
            assert second.heartbeat() == 0, "the other directory goes on"
