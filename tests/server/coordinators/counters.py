"""A second coordinator over the classes that groups use: counters by name in __transaction_state.

A record is a name and what its counter stands at, in decimal; a tombstone removes it; one of a
transaction takes effect with the commit.
"""

from collections.abc import Callable
from pathlib import Path

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.coordinators.leadership import Leadership
from barnabas.server.coordinators.shards import Shard, Shards
from barnabas.server.coordinators.topic import LOG_ERRORS, CoordinatedTopic
from barnabas.server.coordinators.writer import Flush, Writer
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Logs
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.header import NO_PRODUCER_ID, BatchHeader
from barnabas.storage.batch.records import Record
from barnabas.wire.error_codes import ErrorCode

from .world import CoordinatorWorld

TOPIC = CoordinatedTopic(
    "__transaction_state",
    keeps="counters",
    partition_count=50,
    load_buffer_bytes=1_000,
    required_acks=-1,
    write_timeout_ms=3_000,
    errors={**LOG_ERRORS, ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE},
)


class CounterShard(Shard):
    """The counters of one partition. A name that is no text is a bug in whoever wrote it."""

    def __init__(self, partition: Partition) -> None:
        super().__init__(partition)
        self.values: dict[str, int] = {}
        self.open: dict[int, dict[str, int]] = {}
        self.told: list[str] = []

    @property
    def count(self) -> int:
        return len(self.values)

    def replay(self, record: Record, header: BatchHeader) -> None:
        name = (record.key or b"").decode()
        if record.value is None:
            self.values.pop(name, None)
        elif header.is_transactional:
            self.open.setdefault(header.producer_id, {})[name] = int(record.value)
        else:
            self.values[name] = int(record.value)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        ended = self.open.pop(producer_id, {})
        if is_commit:
            self.values.update(ended)

    def loaded(self) -> None:
        self.told.append(f"loaded {len(self.values)}")

    def retire(self) -> None:
        self.told.append("retired")
        self.values, self.open = {}, {}


class Counters:
    """A coordinator of counters, made of the parts of a broker."""

    def __init__(
        self,
        metadata: ClusterMetadata,
        clock: Clock,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
    ) -> None:
        self.shards: Shards[CounterShard] = Shards(TOPIC, metadata)
        self.writer = Writer(TOPIC, clock, produces, fetches, flush)
        log = Logs("error").room("counters")
        self.leadership = Leadership(TOPIC, self.shards, CounterShard, clock, produces, log)

    def shard(self, index: int = 0) -> CounterShard:
        """A partition that is led here."""
        found = self.shards.find(index)
        assert found is not None
        return found

    def add(self, name: str, amount: int, producer_id: int = NO_PRODUCER_ID) -> list[ErrorCode]:
        """Add to a counter; the list that the error, or NONE, is put into when it is known."""
        answers: list[ErrorCode] = []
        try:
            self._add(name, amount, producer_id, answers.append)
        except ApiError as error:
            answers.append(error.code)
        return answers

    def _add(
        self, name: str, amount: int, producer_id: int, done: Callable[[ErrorCode], object]
    ) -> None:
        shard = self.shards.of(name)
        value = shard.values.get(name, 0) + amount
        is_transactional = producer_id != NO_PRODUCER_ID

        def written(error: ErrorCode, _: int) -> None:
            if error is ErrorCode.NONE:
                kept = shard.open.setdefault(producer_id, {}) if is_transactional else shard.values
                kept[name] = value
            done(error)

        self.writer.append(
            shard,
            [(name.encode(), str(value).encode())],
            written,
            producer_id=producer_id,
            producer_epoch=0 if is_transactional else -1,
            base_sequence=0,
            is_transactional=is_transactional,
        )


class CounterWorld(CoordinatorWorld):
    """A coordinator of counters whose partitions are led here from the start."""

    def __init__(self, directory: Path, partitions: int = 1) -> None:
        super().__init__(directory, TOPIC.name, partitions)
        made = Counters(self.metadata, self.clock, self.produces, self.fetches, self.disks.flush)
        self.counters, self.writer = made.shards, made.writer
        self.add, self.shard = made.add, made.shard
        self.lead_all(made.shards, made.leadership)

    def close(self) -> None:
        """Stop loading, close the logs."""
        self.loop.run_until_complete(self.leadership.stop())
        super().close()
