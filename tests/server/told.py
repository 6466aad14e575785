"""Telling a broker about partitions as its controller does, past the registry."""

from barnabas.server.broker import Broker
from barnabas.server.cluster.control_values import LEADER_DURING_DELETION
from barnabas.server.cluster.metadata import TopicInfo


async def tell(broker: Broker, topic: TopicInfo) -> None:
    """LeaderAndIsr, then UpdateMetadata: roles and what clients see."""
    await broker.hosting.lead_or_follow(topic)
    await broker.hosting.topic_shown(topic)


async def tell_end(broker: Broker, topic: TopicInfo) -> None:
    """UpdateMetadata, then StopReplica: the topic is being deleted."""
    await broker.hosting.topic_forgotten(topic.name)
    doomed = dict.fromkeys(
        (info.index for info in topic.partitions), (LEADER_DURING_DELETION, True)
    )
    await broker.hosting.stop_replicas(topic.name, doomed)
