"""Creating, growing and deleting topics, as any broker does it: write, wait for the controller.

The registry is told what is wanted; the controller sees it and gives the partitions leaders;
`served` is called when this broker's metadata has them, and whoever waits goes on.
"""

import asyncio
import contextlib
import random
from collections.abc import Iterable, Mapping, Sequence

from barnabas.server.cluster.added_partitions import plan_partitions
from barnabas.server.cluster.metadata import INTERNAL_TOPICS, ClusterMetadata
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC, name_fault
from barnabas.server.registry.configs import MOST_TRIES
from barnabas.server.registry.errors import TopicExists, VersionConflict
from barnabas.server.registry.placement import ImpossiblePlacement, assign_replicas
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.topics import Topic, colliding_topics
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid

AUTO_CREATE_TIMEOUT_MS = 5_000


class Topics:
    """What clients may do with topics."""

    def __init__(
        self, registry: Registry, metadata: ClusterMetadata, config: BrokerConfig, clock: Clock
    ) -> None:
        self._registry = registry
        self._metadata = metadata
        self._config = config
        self._clock = clock
        self._waiting: dict[str, list[asyncio.Future[bool]]] = {}
        self._creating: set[str] = set()

    async def auto_create(self, name: str) -> None:
        """Create a topic that a client asked about, with the broker's defaults.

        The caller answers LEADER_NOT_AVAILABLE. While another request is creating it, this one
        does not wait: the client asks again, as it has to with Kafka. Raises ApiError.

        What counts is what the registry knows: a broker that has just started has not been told
        of topics and of other brokers yet.
        """
        if name in self._metadata.topics or name in self._creating:
            return
        settings = self.internal_settings(name) if name in INTERNAL_TOPICS else {}
        try:
            if await self._registry.topics.read(name) is None:
                await self.create(name, await self._place_by_default(name), settings)
        except ApiError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        await self.wait_until_served(name, AUTO_CREATE_TIMEOUT_MS)

    async def ensure_internal(self, name: str) -> bool:
        """Make sure that an internal topic exists; whether it is served."""
        if name in self._metadata.topics:
            return True
        await self.auto_create(name)
        return name in self._metadata.topics

    async def _place_by_default(self, name: str) -> dict[int, list[int]]:
        """Replicas on the brokers that live now. Raises ApiError."""
        live = await self._registry.brokers.read_all()
        partitions, factor = self.default_shape(name, len(live))
        racks = {broker_id: each.registration.rack for broker_id, each in live.items()}
        return self.place(partitions, factor, brokers=racks)

    def default_shape(self, name: str, brokers: int | None = None) -> tuple[int, int]:
        """Partitions and replication factor of a topic that is created without them.

        On the embedded registry an internal topic's replication factor is capped by the
        `brokers` there are (without a number: those that this one knows); with ZooKeeper creation
        waits for enough of them, as in Kafka.
        """
        config = self._config
        if name == OFFSETS_TOPIC:
            partitions = config.offsets_topic_num_partitions
            factor = config.offsets_topic_replication_factor
        elif name == TRANSACTION_TOPIC:
            partitions = config.transaction_state_log_num_partitions
            factor = config.transaction_state_log_replication_factor
        else:
            return config.num_partitions, config.default_replication_factor
        if not config.zookeeper_connect:
            known = len(self._metadata.brokers) if brokers is None else brokers
            factor = min(factor, known)
        return partitions, factor

    def internal_settings(self, name: str) -> dict[str, str]:
        """The topic settings that Kafka gives its own topics."""
        config = self._config
        if name == OFFSETS_TOPIC:
            return {
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
            }
        return {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(config.transaction_state_log_min_isr),
            "segment.bytes": str(config.transaction_state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        }

    def place(
        self,
        partitions: int,
        factor: int,
        first: int = 0,
        brokers: Mapping[int, str | None] | None = None,
    ) -> dict[int, list[int]]:
        """Replicas for `partitions` partitions, the first of them numbered `first`.

        `brokers` by their racks; without them those that this one knows.
        Raises ApiError INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR.
        """
        if partitions <= 0:
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."
            )
        if factor <= 0:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."
            )
        if brokers is None:
            brokers = {b.broker_id: b.rack for b in self._metadata.brokers.values()}
        try:
            return assign_replicas(
                brokers,
                partitions,
                factor,
                start=random.randrange(max(1, len(brokers))),
                shift=random.randrange(max(1, len(brokers))),
                first_partition=first,
            )
        except ImpossiblePlacement as error:
            raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from None

    def check_new_name(self, name: str) -> None:
        """Raises ApiError if no topic of this name may be created."""
        if (fault := name_fault(name)) is not None:
            raise fault
        if name in self._metadata.topics:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        _check_collisions(name, self._metadata.topics)

    async def create(
        self, name: str, replicas: Mapping[int, Sequence[int]], settings: Mapping[str, str]
    ) -> Uuid | None:
        """Write a new topic into the registry; its id. Raises ApiError.

        The metadata learns of a topic after the registry. So of two whose names collide, in one
        request or in two at the same time, the second is held against the registry as well.
        """
        self.check_new_name(name)
        if name in self._creating:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' is being created.")
        _check_collisions(name, self._creating)
        self._creating.add(name)
        try:
            if "." in name or "_" in name:
                _check_collisions(name, await self._registry.topics.names())
            made = await self._registry.topics.create(name, replicas, dict(settings))
            return made.topic_id
        except TopicExists as error:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, str(error)) from None
        finally:
            self._creating.discard(name)

    async def add_partitions(
        self,
        name: str,
        count: int,
        manual: Sequence[Sequence[int]] | None,
        *,
        validate_only: bool = False,
    ) -> None:
        """Bring a topic to `count` partitions, with given replicas or placed. Raises ApiError.

        If somebody else changes the topic at the same time, this is judged anew by what it has
        become: to that count perhaps.
        """
        for _ in range(MOST_TRIES):
            topic = await self._read(name)
            assignment = topic.assignment
            added = plan_partitions(assignment.replicas, count, manual, self._metadata)
            if validate_only:
                return
            grown = assignment._replace(replicas={**assignment.replicas, **added})
            with contextlib.suppress(VersionConflict):
                changed = topic._replace(assignment=grown)
                return await self._registry.topics.write_assignment(name, changed)
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT, f"Topic '{name}' is changed all the time.")

    async def _read(self, name: str) -> Topic:
        is_legal = name_fault(name) is None
        topic = await self._registry.topics.read(name) if is_legal else None
        if topic is None:
            raise ApiError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
            )
        return topic

    async def mark_for_deletion(self, name: str, topic_id: Uuid | None = None) -> None:
        """Ask for the deletion of a topic, of that id if there is one. Raises ApiError."""
        if not self._is_known(name, topic_id):
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        await self._registry.topics.mark_for_deletion(name)

    async def wait_until_served(self, name: str, timeout_ms: float, partitions: int = 1) -> bool:
        """Wait until this broker knows leaders of so many partitions; False if time ran out."""
        while not self._is_served(name, partitions):
            if not await self._changed(name, timeout_ms):
                return self._is_served(name, partitions)
        return True

    async def wait_until_deleted(
        self, name: str, timeout_ms: float, topic_id: Uuid | None = None
    ) -> bool:
        """Wait until this broker has forgotten a topic; False if time ran out.

        With an id, the topic of that id: another may bear its name by now.
        """
        while self._is_known(name, topic_id):
            if not await self._changed(name, timeout_ms):
                return not self._is_known(name, topic_id)
        return True

    def changed(self, name: str) -> None:
        """This broker's metadata of a topic changed: wake who waits for it."""
        for future in self._waiting.pop(name, ()):
            if not future.done():
                future.set_result(True)

    def _is_known(self, name: str, topic_id: Uuid | None) -> bool:
        topic = self._metadata.topics.get(name)
        return topic is not None and topic_id in (None, topic.topic_id)

    def _is_served(self, name: str, partitions: int) -> bool:
        topic = self._metadata.topics.get(name)
        return topic is not None and sum(p.leader_id >= 0 for p in topic.partitions) >= partitions

    async def _changed(self, name: str, timeout_ms: float) -> bool:
        """Wait for the next change of a topic; False if `timeout_ms` passed first."""
        if timeout_ms <= 0:
            return False
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, []).append(future)

        def expire() -> None:
            if not future.done():
                future.set_result(False)

        timer = self._clock.call_later(timeout_ms, expire)
        try:
            return await future
        finally:
            timer.cancel()
            waiting = self._waiting.get(name, [])
            if future in waiting:
                waiting.remove(future)
                if not waiting:
                    del self._waiting[name]


def _check_collisions(name: str, existing: Iterable[str]) -> None:
    """Raises ApiError if the name's metrics would be those of another topic."""
    if "." not in name and "_" not in name:
        return
    if collisions := [other for other in colliding_topics(name, existing) if other != name]:
        raise ApiError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic '{name}' collides with existing topics: {', '.join(collisions)}",
        )
