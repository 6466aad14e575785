"""Partitions whose replicas are in sync, as their leaders would have it."""

from collections.abc import Sequence
from functools import partial

from barnabas.server.broker import Broker
from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.registry.registry import Registry
from tests.server.cluster.cluster import Cluster
from tests.server.waiting import eventually


def controller_of(cluster: Cluster) -> Broker:
    """The broker that is the controller."""
    (active,) = [each for each in cluster.brokers.values() if each.controller.is_active]
    return active


async def state_of(cluster: Cluster, topic: str, index: int = 0) -> PartitionState:
    """A partition's state as the registry has it."""
    broker = next(iter(cluster.brokers.values()))
    return (await broker.registry.partitions.read([(topic, index)]))[topic, index].state


async def create_replicated(
    cluster: Cluster, topic: str, *replicas: Sequence[int], isr: Sequence[int] | None = None
) -> None:
    """A topic whose partitions' replicas, or those of `isr`, are all in sync."""
    broker = controller_of(cluster)
    await broker.topics.create(topic, dict(enumerate(replicas)), {})
    assert await broker.topics.wait_until_served(topic, 10_000, len(replicas))
    for index, each in enumerate(replicas):
        await set_isr(cluster, topic, index, each if isr is None else isr)


async def set_isr(cluster: Cluster, topic: str, index: int, isr: Sequence[int]) -> None:
    """These are in sync now: what a leader has decided, once everybody knows it."""
    broker = controller_of(cluster)
    partitions, key = Registry(cluster.ensemble.connect()).partitions, (topic, index)
    outcome: object = None
    while not isinstance(outcome, int):  # the controller may write at the same time
        found = (await partitions.read([key]))[key]
        changed = VersionedState(found.state._replace(isr=list(isr)), found.partition_epoch)
        outcome = (await partitions.write({key: changed}, None))[key]
    leading = broker.controller.decisions.leading
    before = leading.find(topic, index)
    await broker.controller.in_turn("hear of it", lambda: leading.refresh([key]))

    def is_known(other: Broker) -> bool:
        info = other.metadata.partition(topic, index)
        return info is not None and list(info.isr) == list(isr)

    if before is not None and (before.adding or before.removing):
        return  # the move may be over by now, and this be past
    for other in cluster.brokers.values():
        await eventually(partial(is_known, other))
