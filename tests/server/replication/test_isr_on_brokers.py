"""In-sync sets over the wire: a test fetches as a replica, brokers lead and decide."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.registry.broker_body import BrokerRegistration, Endpoint
from barnabas.server.registry.registry import Registry
from barnabas.server.replication.partition import Partition
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce_request
from tests.server.waiting import eventually

REPLICA = 7
LAG_MS = 10_000


class Replica:
    """Broker 7: registered, but not there; what it would fetch a test does."""

    def __init__(self, cluster: Cluster) -> None:
        self.store = cluster.ensemble.connect()
        self.registry = Registry(self.store)
        self.epoch = -1

    async def register(self) -> None:
        endpoint = Endpoint("PLAINTEXT", "127.0.0.1", 1, "PLAINTEXT")
        self.epoch = await self.registry.brokers.register(
            BrokerRegistration(REPLICA, [endpoint], 0)
        )

    def fetch_from(self, leader: Broker, offset: int, log_start: int = 0) -> Any:
        """What the leader answers of partition 0 of "t"."""
        partition = held(leader)
        wanted = FetchPartition(
            partition=0, fetch_offset=offset, partition_max_bytes=1 << 20,
            log_start_offset=log_start, current_leader_epoch=partition.leader_epoch,
        )  # fmt: skip
        request = FetchRequest(
            replica_state=ReplicaState(replica_id=REPLICA, replica_epoch=self.epoch),
            max_wait_ms=0, min_bytes=1, session_epoch=-1,
            topics=[FetchTopic(topic_id=partition.topic_id, partitions=[wanted])],
        )  # fmt: skip
        with RawClient(leader.listeners[0].port) as client:
            return client.call(request, 17).responses[0].partitions[0]

    async def fetch(self, leader: Broker, offset: int, log_start: int = 0) -> Any:
        return await asyncio.to_thread(self.fetch_from, leader, offset, log_start)


def held(broker: Broker) -> Partition:
    found = broker.replicas.find("t", 0)
    assert found is not None
    return found


@asynccontextmanager
async def a_leader(
    folder: Path, leader_id: int, protocol: str = "3.9"
) -> AsyncIterator[tuple[Cluster, Broker, Replica]]:
    """Broker 0 is controller; one of the two leads "t", which broker 7 follows."""
    settings = {
        "inter_broker_protocol_version": protocol, "replica_lag_time_max_ms": str(LAG_MS),
    }  # fmt: skip
    async with cluster_of(folder, 0) as cluster:
        brokers = [await cluster.start(each, **settings) for each in (0, 1)]
        replica = Replica(cluster)
        await replica.register()
        leader = brokers[leader_id]
        await eventually(lambda: REPLICA in leader.metadata.brokers)
        await brokers[0].topics.create("t", {0: [leader_id, REPLICA]}, {"min.insync.replicas": "1"})
        await eventually(lambda: leader.replicas.find("t", 0) is not None)
        await eventually(lambda: held(leader).is_leader and "t" in leader.metadata.topics)
        yield cluster, leader, replica
        await replica.store.close()


async def said_in_sync(broker: Broker, isr: set[int]) -> None:
    def is_so() -> bool:
        info = broker.metadata.partition("t", 0)
        return info is not None and set(info.isr) == isr

    await eventually(is_so)


def run(
    folder: Path,
    scene: Callable[[Cluster, Broker, Replica], Any],
    leader_id: int = 1,
    protocol: str = "3.9",
) -> None:
    async def play() -> None:
        async with a_leader(folder, leader_id, protocol) as (cluster, leader, replica):
            await scene(cluster, leader, replica)

    asyncio.run(play())


def produced(leader: Broker, acks: int = -1) -> int:
    request = produce_request("t", make_batch(b"a"), acks=acks)
    request.timeout_ms = 10 * LAG_MS
    with RawClient(leader.listeners[0].port) as client:
        return int(client.call(request, 9).responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("leader_id, protocol", [(1, "3.9"), (0, "3.9"), (1, "2.6")])
def test_a_follower_joins_with_its_fetches_and_leaves_for_want_of_them(
    tmp_path: Path, leader_id: int, protocol: str
) -> None:
    async def scene(cluster: Cluster, leader: Broker, replica: Replica) -> None:
        assert await asyncio.to_thread(produced, leader, 1) == 0
        partition = held(leader)
        await replica.fetch(leader, 1)
        await eventually(lambda: set(partition.isr) == {leader_id, REPLICA})
        for broker in cluster.brokers.values():
            await said_in_sync(broker, {leader_id, REPLICA})
        assert partition.log.high_watermark == 1

        waits = asyncio.create_task(asyncio.to_thread(produced, leader))
        await eventually(lambda: leader.produces.is_watched(("t", 0)))
        assert (await replica.fetch(leader, 1)).high_watermark == 1
        assert not waits.done()
        assert (await replica.fetch(leader, 2)).high_watermark == 2
        assert await waits == 0

        waits = asyncio.create_task(asyncio.to_thread(produced, leader))
        await eventually(lambda: leader.produces.is_watched(("t", 0)))
        for _ in range(3):
            leader.clock.advance(LAG_MS / 2)
        await eventually(lambda: set(partition.isr) == {leader_id})
        assert await waits == 0, "nobody else is waited for"
        for broker in cluster.brokers.values():
            await said_in_sync(broker, {leader_id})
        stored = await replica.registry.partitions.read([("t", 0)])
        assert stored["t", 0].partition_epoch == partition.partition_epoch

    run(tmp_path, scene, leader_id, protocol)


def test_a_replica_that_has_restarted_does_not_join_by_what_it_fetched_before(
    tmp_path: Path,
) -> None:
    async def scene(cluster: Cluster, leader: Broker, replica: Replica) -> None:
        partition = held(leader)
        for _ in range(4):
            leader.clock.advance(LAG_MS / 2)
        await eventually(lambda: set(partition.isr) == {1})
        new_epoch, replica.epoch = replica.epoch, replica.epoch - 1
        failures = leader.isr_parts.leader_parts.failures
        await replica.fetch(leader, partition.log.log_end_offset)
        await eventually(lambda: leader.isr_parts.leader_parts.failures > failures)
        assert set(partition.isr) == {1}
        replica.epoch = new_epoch
        await replica.fetch(leader, partition.log.log_end_offset)
        await eventually(lambda: set(partition.isr) == {1, REPLICA})

    run(tmp_path, scene)


def test_a_fetch_of_another_epoch_or_of_a_stranger_counts_for_nothing(tmp_path: Path) -> None:
    async def scene(cluster: Cluster, leader: Broker, replica: Replica) -> None:
        partition = held(leader)
        partition.followers.pop(REPLICA)
        answer = await replica.fetch(leader, 0)
        assert answer.error_code == ErrorCode.UNKNOWN_LEADER_EPOCH

    run(tmp_path, scene)


def test_what_is_in_sync_can_be_measured(tmp_path: Path) -> None:
    async def scene(cluster: Cluster, leader: Broker, replica: Replica) -> None:
        prefix = "kafka_server_replicamanager"

        def measured() -> dict[str, float]:
            wanted = ("insyncreplicascount", "replicascount", "atminisr", "underminisr")
            return {
                source.name.rpartition("_")[2]: value
                for source in leader.metrics.sources
                for labels, value in source.read()
                if (labels == ("t", "0") and source.name.endswith(wanted))
                or (
                    source.name.startswith(f"{prefix}_")
                    and ("isr" in source.name or "underrep" in source.name)
                )
            }

        await replica.fetch(leader, 0)
        await eventually(lambda: len(held(leader).isr) == 2)
        before = measured()
        gauges = {
            "insyncreplicascount": 2, "replicascount": 2, "atminisr": 0, "underminisr": 0,
            "underreplicatedpartitions": 0, "underminisrpartitioncount": 0,
            "atminisrpartitioncount": 0,
        }  # fmt: skip
        assert before.items() >= gauges.items()
        assert await asyncio.to_thread(produced, leader, 1) == 0
        for _ in range(3):
            leader.clock.advance(LAG_MS / 2)
        await eventually(lambda: len(held(leader).isr) == 1)
        assert measured() == before | {
            "insyncreplicascount": 1, "atminisr": 1, "atminisrpartitioncount": 1,
            "underreplicatedpartitions": 1, "isrshrinks": before["isrshrinks"] + 1,
        }  # fmt: skip
        await replica.fetch(leader, 1)
        await eventually(lambda: len(held(leader).isr) == 2)
        assert measured()["isrexpands"] == before["isrexpands"] + 1

    run(tmp_path, scene)


def deleted(leader: Broker, offset: int, timeout_ms: int = 10 * LAG_MS) -> tuple[int, int]:
    """(error code, low watermark)."""
    wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name="t", partitions=[wanted, wanted])], timeout_ms=timeout_ms
    )
    with RawClient(leader.listeners[0].port) as client:
        first, second = client.call(request, 2).topics[0].partitions
    assert first == second
    return first.error_code, first.low_watermark


def test_records_are_deleted_when_every_replica_has(tmp_path: Path) -> None:
    async def scene(cluster: Cluster, leader: Broker, replica: Replica) -> None:
        for _ in range(3):
            assert await asyncio.to_thread(produced, leader, 1) == 0
        await replica.fetch(leader, 3)
        await eventually(lambda: held(leader).log.high_watermark == 3)
        deletes = asyncio.create_task(asyncio.to_thread(deleted, leader, 2))
        await eventually(lambda: leader.deletions.is_watched(("t", 0)))
        assert (await replica.fetch(leader, 3, 1)).log_start_offset == 2
        assert not deletes.done()
        await replica.fetch(leader, 3, 2)
        assert await deletes == (0, 2)
        timed_out = (ErrorCode.REQUEST_TIMED_OUT, 2)
        assert await asyncio.to_thread(deleted, leader, -1, 1) == timed_out
        leader.metadata.brokers.pop(REPLICA)
        assert await asyncio.to_thread(deleted, leader, 3) == (0, 3)

    run(tmp_path, scene)
