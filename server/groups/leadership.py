"""Partitions of __consumer_offsets come and go with their leadership.

One that comes is read from its log before its groups are answered for; one after the other,
while the rest of the broker goes on. One that goes takes its groups along: their members are
sent to look for the new coordinator.

One that cannot be read fails, as in Kafka 4: its groups are told NOT_COORDINATOR, for a
coordinator that does not know their offsets would have them start anew. It is read again later.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Clock
from barnabas.server.groups.shards import Shard, Shards
from barnabas.server.observing.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.errors import StorageError

if TYPE_CHECKING:
    from barnabas.server.groups.group import Group
    from barnabas.server.groups.services import Services


RELOAD_PAUSE_MS = 5_000.0
RELEASE_THAT_KEEPS_GROUPS = 4


class Leadership:
    """Keeps `shards` equal to what this broker leads."""

    def __init__(
        self,
        shards: Shards,
        config: BrokerConfig,
        clock: Clock,
        services: "Callable[[], Services]",
        log: Log,
    ) -> None:
        self._shards = shards
        self._config = config
        self._clock = clock
        self._services = services
        self._log = log
        self.on_loaded: Callable[[], object] = lambda: None
        """Called when a partition's groups have been loaded."""
        self._to_load: asyncio.Queue[Shard] = asyncio.Queue()
        self._loader: asyncio.Task[None] | None = None

    def elected(self, partition: Partition) -> None:
        """This broker leads a partition: load it, unless it is known in this epoch."""
        known = self._shards.find(partition.index)
        if known is not None and known.leader_epoch >= partition.leader_epoch:
            return
        self.resigned(partition.index)
        shard = Shard(partition.index, partition.leader_epoch, partition)
        self._shards.put(shard)
        if partition.log.log_start_offset == partition.log.log_end_offset:
            shard.is_active = True
            return
        self._to_load.put_nowait(shard)
        if self._loader is None:
            self._loader = asyncio.get_running_loop().create_task(self._load_all())

    def resigned(self, index: int) -> None:
        """This broker does not lead the partition any more."""
        shard = self._shards.pop(index)
        if shard is not None and shard.groups:
            rebalance = self._services().rebalance
            for group in tuple(shard.groups.values()):
                rebalance.unload(group)

    def resigned_all(self) -> None:
        """Nothing is led here any more."""
        for shard in self._shards:
            self.resigned(shard.index)

    async def stop(self) -> None:
        """Stop loading."""
        if self._loader is not None:
            self._loader.cancel()
            await asyncio.gather(self._loader, return_exceptions=True)
            self._loader = None

    async def _load_all(self) -> None:
        while True:
            shard = await self._to_load.get()
            if not shard.is_gone:
                await self._load(shard)

    async def _load(self, shard: Shard) -> None:
        from barnabas.server.groups import loading

        started_ms = self._clock.monotonic_ms()
        try:
            replay = await loading.load(shard, self._config.offsets_load_buffer_size)
            if shard.is_gone:
                return
            keeps_empty = self._config.release >= RELEASE_THAT_KEEPS_GROUPS
            groups = loading.install(shard, replay, keeps_empty=keeps_empty)
        except Exception as error:  # the partitions after it are loaded all the same
            self._failed(shard, error)
            return
        shard.is_failed = False
        shard.is_active = True
        for group in groups:
            self._services().cleanup.remove_topics(group, sorted(shard.deleted_topics))
            self._loaded(group)
        shard.deleted_topics.clear()
        if replay.unknown_types or replay.malformed:
            self._log.warn(
                "records were skipped", partition=shard.index, malformed=replay.malformed,
                types=",".join(map(str, sorted(replay.unknown_types))),
            )  # fmt: skip
        self._log.info(
            "groups loaded", partition=shard.index, groups=len(shard.groups),
            ms=round(self._clock.monotonic_ms() - started_ms),
        )  # fmt: skip
        self.on_loaded()

    def _failed(self, shard: Shard, error: Exception) -> None:
        """Answer for none of the shard's groups; try again later."""
        shard.groups.clear()
        if not shard.is_failed:
            if isinstance(error, (StorageError, OSError)):
                self._log.error("groups cannot be loaded", partition=shard.index, error=error)
            else:
                self._log.unexpected("groups cannot be loaded", error, partition=shard.index)
        shard.is_failed = True
        if not shard.is_gone:
            self._clock.call_later(RELOAD_PAUSE_MS, lambda: self._to_load.put_nowait(shard))

    def _loaded(self, group: "Group") -> None:
        """Members have their session timeout to come back."""
        rebalance = self._services().rebalance
        for member in group.members.by_id.values():
            rebalance.sessions.beat(group, member)
        if len(group.members) > self._config.group_max_size:
            rebalance.prepare(group, "the loaded group is over its size")
