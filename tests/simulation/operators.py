"""An operator, who moves replicas and has preferred leaders elected, come what may."""

import contextlib
from collections.abc import Sequence

from barnabas.server.core.errors import Unanswered
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.schema import Message

from .clients import TOPIC, Cluster

PATIENCE_MS = 500


class Operator:
    """Asks a controller, and takes no notice of the answer."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def reassign(self, controller_id: int, index: int, replicas: Sequence[int]) -> None:
        """Have others hold a partition."""
        partition = ReassignablePartition(partition_index=index, replicas=list(replicas))
        topic = ReassignableTopic(name=TOPIC, partitions=[partition])
        request = AlterPartitionReassignmentsRequest(timeout_ms=PATIENCE_MS, topics=[topic])
        await self._ask(controller_id, request, 0)

    async def elect_preferred(self, controller_id: int) -> None:
        """Have the first replicas lead."""
        topics = [TopicPartitions(topic=TOPIC, partitions=[0, 1])]
        request = ElectLeadersRequest(topic_partitions=topics, timeout_ms=PATIENCE_MS)
        await self._ask(controller_id, request, 2)

    async def _ask(self, controller_id: int, request: Message, version: int) -> None:
        with contextlib.suppress(Unanswered):
            await self._cluster.ask(controller_id, request, version)
