"""The replicas of a broker that move between its data directories, some at a time.

`num.replica.alter.log.dirs.threads` move at once, as many as there are directories unless that is
set; the others wait, in the order of their names. A move goes on after a start of the broker,
until it is done, cancelled (a move to another directory, the one where the replica is included)
or one of its directories fails. Source: Kafka's ReplicaManager.alterReplicaLogDirs and
ReplicaAlterLogDirsManager.
"""

from __future__ import annotations  # what the types name is imported when it is needed

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.server.core.awaiting import Backoff
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.core.topic_names import TopicPartition as Key
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.server.replication.replicas import Replicas
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.errors import StorageError
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.future_logs import is_name_too_long
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.replication.moving.move import Surroundings

FIRST_PAUSE_MS: Final = 1_000.0
LONGEST_PAUSE_MS: Final = 60_000.0
"""Between tries of what went wrong."""


class WakesWaiting(Protocol):
    """Told when what is acknowledged may have changed."""

    def high_watermark_moved(self, key: Key) -> None: ...


class Parts(Protocol):
    """What of a broker is needed to move its replicas."""

    broker_id: int
    clock: Clock
    config: BrokerConfig
    disks: LogManager
    replicas: Replicas
    turns: Turns

    @property
    def hosting(self) -> WakesWaiting: ...


class Moves:
    """One broker's."""

    def __init__(self, broker: Parts, log: Log) -> None:
        self._broker = broker
        self._log = log
        self._waiting: dict[Key, Partition] = {}
        self._running: dict[Key, asyncio.Task[None]] = {}
        self._is_stopped = False
        self.quota = ReplicationQuota(broker.clock)
        """What all moves together may copy."""
        self.failed: set[Key] = set()
        """Those that went wrong, and are tried again later."""
        self.copied_bytes = 0
        self.moved_count = 0
        """Replicas that were moved."""

    def __len__(self) -> int:
        """How many replicas are on their way."""
        return len(self._waiting) + len(self._running)

    def configure(self) -> None:
        """Keep to the settings as they are now."""
        config = self._broker.config
        self.quota.configure(
            self._broker.broker_id, config.replica_alter_log_dirs_io_max_bytes_per_second,
            config.alter_log_dirs_replication_quota_window_num,
            config.alter_log_dirs_replication_quota_window_size_seconds,
        )  # fmt: skip

    @property
    def max_lag(self) -> int:
        """Offsets that the copy lacks which lacks most."""
        disks = self._broker.disks
        lags = (
            source.log_end_offset - future.log_end_offset
            for future in disks.futures
            if (source := future_source(disks, future)) is not None
        )
        return max(lags, default=0)

    # --- what is wanted ----------------------------------------------------------------

    def alter(self, topic: str, index: int, directory: DataDirectory | None) -> ErrorCode:
        """Have a replica lie in a data directory (None: there is no such), now or later.

        One that is not here yet is made there: REPLICA_NOT_AVAILABLE all the same, or
        UNKNOWN_TOPIC_OR_PARTITION.
        """
        broker, partition = self._broker, TopicPartition(topic, index)
        if is_name_too_long(partition):
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if directory is None:
            return ErrorCode.LOG_DIR_NOT_FOUND
        if not directory.is_online or broker.replicas.is_offline(topic, index):
            return ErrorCode.KAFKA_STORAGE_ERROR
        future = broker.disks.futures.find(partition)
        if future is not None and future.data_directory is not directory:
            self._cancel(partition)
        try:
            held = broker.replicas.require(topic, index)
        except ApiError as error:
            broker.disks.prefer(partition, directory)
            is_expected = error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
            return ErrorCode.REPLICA_NOT_AVAILABLE if is_expected else error.code
        return self._begin(held, directory)

    def _begin(self, partition: Partition, directory: DataDirectory) -> ErrorCode:
        disks, source = self._broker.disks, partition.log
        if source.data_directory is directory:
            return ErrorCode.NONE
        if source.partition not in disks.futures:
            try:
                disks.futures.create(source, directory, self._broker.clock.now_ms())
            except StorageError as error:
                self._log.warn("a replica cannot be moved", error=error)
                return code_of(error)
            self._log.info(
                "a replica moves to another directory", partition=source.topic_partition,
                directory=directory.path, size_bytes=source.size_bytes,
            )  # fmt: skip
        self.hosted(partition)
        return ErrorCode.NONE

    def _cancel(self, partition: TopicPartition) -> None:
        self._log.info("a replica is not moved after all", partition=str(partition))
        self.leave((partition.topic, partition.partition))
        self._broker.disks.futures.drop(partition)

    # --- what becomes of replicas ------------------------------------------------------

    def hosted(self, partition: Partition) -> None:
        """A partition has a log here, which may have been on its way when the broker stopped."""
        key, source = partition.key, partition.log
        future = self._broker.disks.futures.find(source.partition)
        if self._is_stopped or future is None:
            return
        is_elsewhere = future.data_directory is not source.data_directory
        if is_elsewhere and key not in self._running:
            self._waiting[key] = partition
            self._start_some()

    def leave(self, key: Key) -> None:
        """Move a replica no further: nothing more is copied, and the logs are not exchanged.

        What a worker has begun, a read or a sync, it may still be at when this returns.
        """
        self._waiting.pop(key, None)
        self.failed.discard(key)
        task = self._running.pop(key, None)
        if task is not None:
            task.cancel()
            self._start_some()

    def directory_failed(self, directory: DataDirectory) -> None:
        """What was on its way into a directory stays where it is."""
        for topic, index in directory.future_logs:
            self.leave((topic, index))

    async def stop(self) -> None:
        """Move nothing any more; what is on its way goes on with the next start."""
        self._is_stopped = True
        self._waiting.clear()
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._running.clear()

    # --- moving ------------------------------------------------------------------------

    def _start_some(self) -> None:
        while self._waiting and not self._is_stopped and len(self._running) < self._most_at_once:
            key = min(self._waiting)
            partition = self._waiting.pop(key)
            future = self._broker.disks.futures.find(partition.log.partition)
            if future is not None:
                move = self._move(partition, future)
                self._running[key] = asyncio.get_running_loop().create_task(move)

    @property
    def _most_at_once(self) -> int:
        threads = self._broker.config.num_replica_alter_log_dirs_threads
        return max(1, threads or len(self._broker.disks.directories))

    async def _move(self, partition: Partition, future: ManagedLog) -> None:
        from barnabas.server.replication.moving.move import Move

        backoff = Backoff(self._broker.clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        while True:
            try:
                await Move(partition, future, self._surroundings()).run()
            except Exception as error:
                self._went_wrong(partition, error)
                await backoff.wait()
            else:
                break
        self.failed.discard(partition.key)
        self._running.pop(partition.key, None)
        self._start_some()

    def _went_wrong(self, partition: Partition, error: Exception) -> None:
        """Said even of a move that has been left meanwhile, as when it failed its own directory;
        that one is not tried again, and ends as soon as it waits."""
        what, where = "a replica could not be moved, for now", partition.log.topic_partition
        if self._running.get(partition.key) is asyncio.current_task():
            self.failed.add(partition.key)
        if isinstance(error, StorageError):
            self._log.error(what, partition=where, error=error)
        else:
            self._log.unexpected(what, error, partition=where)

    def _surroundings(self) -> Surroundings:
        from barnabas.server.replication.moving.move import Surroundings

        broker = self._broker
        return Surroundings(
            broker.clock, broker.turns, broker.disks, self.quota, self._copied, self._exchange
        )

    def _copied(self, count: int) -> None:
        self.copied_bytes += count

    def _exchange(self, partition: Partition, future: ManagedLog) -> bool:
        """Both logs end at the same offset: from here on the other one is the partition's."""
        disks, source = self._broker.disks, partition.log
        if not disks.futures.replace(source, future):
            return False
        partition.log = future
        self.moved_count += 1
        disks.futures.retire(source, future)
        # Who waits for a flush of the old log (`flush.messages`) waits for one of this.
        moved = partial(self._broker.hosting.high_watermark_moved, partition.key)
        disks.flush(future, moved)
        self._log.info(
            "a replica has moved", partition=future.topic_partition,
            directory=future.data_directory.path, end_offset=future.log_end_offset,
        )  # fmt: skip
        return True


def future_source(disks: LogManager, future: ManagedLog) -> ManagedLog | None:
    """The log in use of a partition whose future log this is; None if there is none."""
    try:
        return disks.get(future.partition)
    except StorageError:
        return None
