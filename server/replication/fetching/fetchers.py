"""All that a broker follows: fetchers by leader and number (`num.replica.fetchers`).

A broker that follows nothing has none, and has imported none.
"""

from __future__ import annotations  # what the types name is imported when it is needed

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol
from zlib import crc32

from barnabas.server.cluster.membership import Membership
from barnabas.server.cluster.metadata import NO_LEADER, BrokerInfo, ClusterMetadata
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.peers.dialing import Dial
from barnabas.server.replication.fetching.counts import FetchCounts
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.manager.log_manager import LogManager

if TYPE_CHECKING:
    from barnabas.server.peers.peer import Address
    from barnabas.server.replication.fetching.fetcher import Fetcher, Surroundings

FetcherId = tuple[int, int]
"""A leader, and a number below `num.replica.fetchers`."""
MOST_ANSWER_BYTES: Final = 2**31 - 1
"""An answer holds at least one batch, which may have any size."""


class Parts(Protocol):
    """What of a broker is needed to follow."""

    broker_id: int
    clock: Clock
    config: BrokerConfig
    dial: Dial
    disks: LogManager
    fetches: Delayed
    membership: Membership
    metadata: ClusterMetadata
    turns: Turns


class Fetchers:
    """One broker's."""

    def __init__(self, broker: Parts, log: Log) -> None:
        self._broker = broker
        self._log = log
        self._fetchers: dict[FetcherId, Fetcher] = {}
        self._homes: dict[TopicPartition, FetcherId] = {}
        self._surroundings: Surroundings | None = None
        self._is_ending = False
        self.counts = FetchCounts()
        self.quota = ReplicationQuota(broker.clock)
        """What throttled partitions may take that are followed here."""
        self.failed: set[object] = set()
        """The keys of partitions that are not followed any more, until they are told anew."""

    def __iter__(self) -> Iterator[Fetcher]:
        return iter(self._fetchers.values())

    def follow(self, partition: Partition) -> None:
        """Follow a partition that is a follower now, or is one in a newer epoch than before.

        With NO_LEADER nobody can be followed.
        """
        from barnabas.server.replication.fetching.followed import Followed

        self.leave(partition.key)
        if partition.leader_id == NO_LEADER or self._is_ending:
            return
        name, index = partition.key
        number = (crc32(name.encode()) + index) % self._broker.config.num_replica_fetchers
        home = (partition.leader_id, number)
        fetcher = self._fetchers.get(home) or self._start(home)
        self._homes[partition.key] = home
        truncates_on_fetch = self._made_surroundings.truncates_on_fetch
        fetcher.table.put(Followed(partition, truncates_on_fetch=truncates_on_fetch))

    def resize(self) -> None:
        """Spread what is followed over another number of fetchers."""
        for fetcher in tuple(self._fetchers.values()):
            for followed in tuple(fetcher.table.all.values()):
                self.follow(followed.partition)

    def leave(self, key: TopicPartition) -> None:
        """Follow a partition no longer; nothing is done to its log when this returns."""
        self.failed.discard(key)
        home = self._homes.pop(key, None)
        if home is not None and home in self._fetchers:
            self._fetchers[home].table.drop(key)

    def follow_no_more(self) -> None:
        """Begin to follow nothing new, whatever a controller may still say: the broker is stopping.

        It would be in sync with who leads now in its place, and missed when it is gone; Kafka's
        ReplicaManager asks `isShuttingDown`.
        """
        self._is_ending = True

    async def stop(self) -> None:
        """Follow nothing any more."""
        self.follow_no_more()
        fetchers, self._fetchers = self._fetchers, {}
        self._homes.clear()
        for fetcher in fetchers.values():
            await fetcher.stop()

    def _start(self, home: FetcherId) -> Fetcher:
        from barnabas.server.peers.peer import Peer
        from barnabas.server.replication.fetching.fetcher import Fetcher
        from barnabas.server.replication.fetching.leader import Asking, Leader
        from barnabas.server.replication.fetching.session import FetchSession
        from barnabas.server.replication.fetching.versions import (
            SESSIONS_SINCE,
            TOPIC_IDS_SINCE,
            version_of,
        )
        from barnabas.wire.api import ApiKey

        broker, (leader_id, number) = self._broker, home
        config, protocol = broker.config, broker.config.inter_broker_protocol
        peer = Peer(
            f"broker-{broker.broker_id}-fetcher-{number}", broker.clock,
            config.replica_socket_timeout_ms, partial(broker.dial, leader_id), MOST_ANSWER_BYTES,
        )  # fmt: skip
        asking = Asking(broker.broker_id, lambda: broker.membership.broker_epoch, config, protocol)
        version = version_of(ApiKey.FETCH, protocol)
        session = FetchSession(
            has_epochs=version >= SESSIONS_SINCE,
            may_use_ids=version >= TOPIC_IDS_SINCE,
            most_bytes=lambda: config.replica_fetch_max_bytes,
        )
        leader = Leader(asking, peer, self._finder_of(leader_id))
        around = self._made_surroundings
        around = around._replace(log=self._log.bind(leader=leader_id, fetcher=number))
        fetcher = Fetcher(leader, session, around, lambda ended: self._ended(home, ended))
        self._fetchers[home] = fetcher
        return fetcher

    def _ended(self, home: FetcherId, fetcher: Fetcher) -> None:
        if self._fetchers.get(home) is fetcher:
            del self._fetchers[home]

    @property
    def _made_surroundings(self) -> Surroundings:
        from barnabas.server.replication.fetching.fetcher import Surroundings
        from barnabas.server.replication.fetching.versions import knows_epochs, truncates_on_fetch

        if self._surroundings is None:
            broker = self._broker
            protocol = broker.config.inter_broker_protocol
            self._surroundings = Surroundings(
                broker.clock, broker.turns, self._log,
                backoff_ms=lambda: broker.config.replica_fetch_backoff_ms,
                truncates_on_fetch=truncates_on_fetch(protocol),
                knows_epochs=knows_epochs(protocol),
                counts=self.counts,
                quota=self.quota,
                failed=self.failed,
                high_watermark_moved=broker.fetches.complete,
                flush=lambda partition: broker.disks.flush(partition.log),
            )  # fmt: skip
        return self._surroundings

    def _finder_of(self, broker_id: int) -> Callable[[], Address | None]:
        """Says where a broker listens for others, each time it is asked."""
        from barnabas.server.peers.peer import Address

        metadata = self._broker.metadata
        listener = self._broker.config.inter_broker_listener
        known: tuple[BrokerInfo | None, Address | None] = (None, None)

        def find() -> Address | None:
            nonlocal known
            info = metadata.brokers.get(broker_id)
            if info is not known[0]:
                found = info and info.endpoints.get(listener)
                known = info, Address(found.host, found.port) if found else None
            return known[1]

        return find
