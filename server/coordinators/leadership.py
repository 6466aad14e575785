"""Partitions of an internal topic come and go with their leadership.

One that comes is read from its log before its names are answered for; one after the other,
while the rest of the broker goes on. One that goes takes what is kept along: whoever waits is
sent to look for the new coordinator. A new epoch of a leadership that has not been interrupted,
as when a follower was lost, changes nothing of what is kept.

What a leader before left in the log need not be on all in-sync replicas yet. Nothing is answered
from it until it is: told of it and then elected elsewhere, a client would see it undone, and an
end of a transaction would have been made known that was never prepared. Kafka goes by it at once.

One that cannot be read fails, as in Kafka 4: its names are told NOT_COORDINATOR, for a
coordinator that does not know what was kept would have them start anew. It is read again later.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from barnabas.server.cluster.metadata import TopicInfo
from barnabas.server.coordinators.loading import replay
from barnabas.server.coordinators.shards import Shard, ShardEvent, Shards
from barnabas.server.coordinators.topic import CoordinatedTopic
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.observing.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.storage.errors import StorageError

RELOAD_PAUSE_MS = 5_000.0
LOOK_AGAIN_MS = 5_000.0
S = TypeVar("S", bound=Shard)


class Leadership(Generic[S]):
    """Keeps `shards` equal to what this broker leads."""

    def __init__(
        self,
        topic: CoordinatedTopic,
        shards: Shards[S],
        make_shard: Callable[[Partition], S],
        clock: Clock,
        produces: Delayed,
        log: Log,
    ) -> None:
        """In `produces` whoever waits for a high watermark is told of it."""
        self.topic = topic
        self._shards = shards
        self._make_shard = make_shard
        self._clock = clock
        self._produces = produces
        self._log = log
        self.on_loaded: Callable[[], object] = lambda: None
        """Called when a partition has been loaded from a log that held something."""
        self._to_load: asyncio.Queue[S] = asyncio.Queue()
        self._loader: asyncio.Task[None] | None = None
        self._is_stopped = False

    def elected(self, partition: Partition) -> None:
        """This broker leads a partition: load it, unless it has led it all the time."""
        known = self._shards.find(partition.index)
        if known is not None and known.partition is partition:
            known.leader_epoch = max(known.leader_epoch, partition.leader_epoch)
            return
        self.resigned(partition.index)
        shard = self._make_shard(partition)
        self._shards.put(shard)
        if partition.log.log_start_offset == partition.log.log_end_offset:
            self._replayed(shard)
        else:
            self._enqueue(shard)

    def resigned(self, index: int) -> None:
        """This broker does not lead the partition any more."""
        shard = self._shards.pop(index)
        if shard is not None:
            shard.move(ShardEvent.RESIGNED)
            shard.retire()

    def resigned_all(self) -> None:
        """Nothing is led here any more."""
        for shard in self._shards:
            self.resigned(shard.index)

    async def stop(self) -> None:
        """Stop loading."""
        self._is_stopped = True
        if self._loader is not None:
            self._loader.cancel()
            await asyncio.gather(self._loader, return_exceptions=True)
            self._loader = None

    def _enqueue(self, shard: S) -> None:
        """Load it when those before it are through."""
        if self._is_stopped:
            return
        self._to_load.put_nowait(shard)
        if self._loader is None:
            self._loader = asyncio.get_running_loop().create_task(self._load_all())

    async def _load_all(self) -> None:
        while True:
            shard = await self._to_load.get()
            if not shard.is_retired:
                await self._load(shard)

    async def _load(self, shard: S) -> None:
        started_ms = self._clock.monotonic_ms()
        try:
            await replay(shard, self.topic.load_buffer_bytes)
        except Exception as error:  # the partitions after it are loaded all the same
            self._failed(shard, error)
            return
        if shard.is_retired:
            return
        self._replayed(shard, partial(self._say_loaded, shard, started_ms))

    def _say_loaded(self, shard: S, started_ms: float) -> None:
        keeps = self.topic.keeps
        self._log.info(
            f"{keeps} loaded", partition=shard.index, **{keeps: shard.count},
            ms=round(self._clock.monotonic_ms() - started_ms),
        )  # fmt: skip
        self.on_loaded()

    def _replayed(self, shard: S, told: Callable[[], object] = lambda: None) -> None:
        """The log's end is reached: answer for the shard once all of that is safe."""
        shard.move(ShardEvent.REPLAYED)
        self._settle(shard, shard.partition.log.log_end_offset, told)

    def _settle(self, shard: S, end: int, told: Callable[[], object]) -> None:
        """Go on when all in-sync replicas have what is below `end`; then `told` is called."""

        def is_over(_: object) -> bool:
            return shard.is_retired or shard.partition.log.high_watermark >= end

        if not is_over(None):
            key = shard.partition.key
            wait = self._produces.park([key], LOOK_AGAIN_MS, is_over, lambda: None)
            wait.then(lambda _: self._settle(shard, end, told))
        elif not shard.is_retired and not self._is_stopped and self._finish(shard):
            told()

    def _finish(self, shard: S) -> bool:
        """Answer for the shard from now on; whether it can."""
        try:
            shard.move(ShardEvent.SETTLED)
            shard.loaded()
        except Exception as error:
            self._failed(shard, error)
            return False
        return True

    def _failed(self, shard: S, error: Exception) -> None:
        """Answer for nothing of the shard's; try again later."""
        if shard.is_retired:
            return
        if not shard.has_failed:  # said once, not with every try
            message = f"{self.topic.keeps} cannot be loaded"
            if isinstance(error, (StorageError, OSError)):
                self._log.error(message, partition=shard.index, error=error)
            else:
                self._log.unexpected(message, error, partition=shard.index)
        shard.has_failed = True
        shard.move(ShardEvent.UNREADABLE)
        shard.retire()
        self._clock.call_later(RELOAD_PAUSE_MS, lambda: self._enqueue(shard))


class Leaderships:
    """Every coordinator of a broker by its topic: what becomes of a partition reaches it here."""

    def __init__(self) -> None:
        self._by_topic: dict[str, Leadership[Any]] = {}

    def __contains__(self, topic: str) -> bool:
        return topic in self._by_topic

    def add(self, leadership: Leadership[S]) -> None:
        """A coordinator keeps its state in `leadership.topic`."""
        self._by_topic[leadership.topic.name] = leadership

    def topic_changed(self, topic: TopicInfo, find: Callable[[str, int], Partition | None]) -> None:
        """Coordinate what is kept in the partitions that are led here, and nothing else.

        `find` gives the partitions of this broker. Other topics are nobody's business.
        """
        leadership = self._by_topic.get(topic.name)
        if leadership is None:
            return
        for info in topic.partitions:
            partition = find(topic.name, info.index)
            if partition is not None and partition.is_leader:
                leadership.elected(partition)
            else:
                leadership.resigned(info.index)

    def topic_deleted(self, topic: str) -> None:
        """Nothing of the topic is led here any more."""
        if topic in self._by_topic:
            self._by_topic[topic].resigned_all()

    def partition_lost(self, topic: str, index: int) -> None:
        """A partition cannot be led from here: its disk failed."""
        if topic in self._by_topic:
            self._by_topic[topic].resigned(index)
