"""What brokers tell the controller by znodes: in-sync sets, and data directories that are lost."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.registry import notices, paths
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.registry.znodes.store import ConnectionLoss
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.controller.in_sync import create_replicated, state_of
from tests.server.waiting import eventually

Scene = Callable[[Cluster], Awaitable[None]]
FAILED = OSError(5, "Input/output error")


def play(folder: Path, scene: Scene, *, disks_of: int | None = None, count: int = 3) -> None:
    """Broker `disks_of` has two data directories."""

    async def played() -> None:
        async with cluster_of(folder, 0) as cluster:
            for broker_id in range(count):
                settings = {}
                if broker_id == disks_of:
                    settings["log_dirs"] = ",".join(str(folder / each) for each in ("a", "b"))
                await cluster.start(broker_id, **settings)
            await scene(cluster)

    asyncio.run(played())


def knows(broker: Broker, leader_id: int, offline: tuple[int, ...], index: int) -> bool:
    info = broker.metadata.partition("t", index)
    return info is not None and (info.leader_id, info.offline) == (leader_id, offline)


def leads(broker: Broker, index: int) -> bool:
    held = broker.replicas.find("t", index)
    return held is not None and held.is_leader


def lose_disk_of(broker: Broker, index: int) -> int:
    """The disk fails on which a partition of the topic lies; another one that lies elsewhere."""
    lost = broker.replicas.require("t", index).log.data_directory
    kept = [each.index for each in broker.replicas.of_topic("t")
            if each.log.data_directory is not lost]  # fmt: skip
    lost.fail(FAILED)
    return kept[0]


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
@pytest.mark.broker_says("a leader answers an error", always=False)
@pytest.mark.parametrize("controls", [True, False])
def test_what_a_lost_disk_led_is_led_elsewhere(tmp_path: Path, controls: bool) -> None:
    """The disk is the controller's own, or another broker's."""
    loser, other = (0, 1) if controls else (1, 0)

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", *[[loser, other]] * 4)
        kept = lose_disk_of(cluster.brokers[loser], 0)
        for broker in cluster.brokers.values():
            await eventually(partial(knows, broker, other, (loser,), 0))
            await eventually(partial(knows, broker, loser, (), kept))
        state = await state_of(cluster, "t", 0)
        assert (state.leader, state.isr, state.leader_epoch) == (other, [other], 1)
        assert (await state_of(cluster, "t", kept)).leader_epoch == 0
        await eventually(lambda: not cluster.ensemble.tree.children(paths.LOG_DIR_EVENTS))

    play(tmp_path, scene, disks_of=loser)


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
@pytest.mark.broker_says("a leader answers an error", always=False)
def test_what_has_no_other_replica_is_offline_until_the_disk_is_back(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", *[[1]] * 4)
        broker, first = cluster.brokers[1], cluster.brokers[0]
        lose_disk_of(broker, 0)
        await eventually(partial(knows, first, NO_LEADER, (1,), 0))
        assert (await state_of(cluster, "t", 0)).isr == [1]
        await cluster.stop(broker)
        directories = ",".join(str(tmp_path / each) for each in ("a", "b"))
        again = await cluster.start(1, log_dirs=directories)
        for index in range(4):
            await eventually(partial(knows, first, 1, (), index))
            await eventually(partial(leads, again, index))

    play(tmp_path, scene, disks_of=1)


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
@pytest.mark.broker_says("a leader answers an error", always=False)
def test_the_next_controller_finds_out_what_is_lost(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", *[[1, 2]] * 4)
        lose_disk_of(cluster.brokers[1], 0)
        await eventually(partial(knows, cluster.brokers[2], 2, (1,), 0))
        await cluster.stop(cluster.brokers[0])
        await eventually(lambda: any(b.controller.is_active for b in cluster.brokers.values()))
        for broker in cluster.brokers.values():
            await eventually(partial(knows, broker, 2, (1,), 0))

    play(tmp_path, scene, disks_of=1)


@pytest.mark.broker_says("its partitions are offline", "a data directory failed")
@pytest.mark.broker_says("a leader answers an error", always=False)
def test_a_lost_disk_is_told_though_the_registry_cannot_be_reached_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", *[[1, 2]] * 4)
        broker = cluster.brokers[1]
        add, failures = broker.registry.log_dir_events.add, [1]

        async def adds(body: bytes) -> int:
            if failures:
                failures.pop()
                raise ConnectionLoss(paths.LOG_DIR_EVENTS)
            return await add(body)

        monkeypatch.setattr(broker.registry.log_dir_events, "add", adds)
        lose_disk_of(broker, 0)
        await eventually(lambda: not failures)
        await asyncio.sleep(0)
        broker.clock.advance(1_000)
        await eventually(partial(knows, cluster.brokers[0], 2, (1,), 0))

    play(tmp_path, scene, disks_of=1)


@pytest.mark.broker_says("a notification cannot be read")
def test_in_sync_sets_that_leaders_have_written_are_told_to_everybody(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        registry, key = cluster.brokers[1].registry, ("t", 0)
        found = (await registry.partitions.read([key]))[key]
        changed = VersionedState(found.state._replace(isr=[1]), found.partition_epoch)
        await registry.partitions.write({key: changed}, None)
        for body in (b"[]", notices.encode_partitions([key, ("t", 9), ("none", 0)])):
            await registry.isr_changes.add(body)

        def is_known(broker: Broker) -> bool:
            info = broker.metadata.partition("t", 0)
            return info is not None and info.isr == (1,)

        for broker in cluster.brokers.values():
            await eventually(partial(is_known, broker))
        await eventually(lambda: not cluster.ensemble.tree.children(paths.ISR_CHANGES))
        assert (await state_of(cluster, "t")).leader_epoch == 0

    play(tmp_path, scene)
