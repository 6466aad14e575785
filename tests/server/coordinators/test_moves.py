"""A coordinator that moves between replicas, in random histories: what clients were told stays so.

Three replicas of one partition on real logs. Followers copy as much as chance will have it, the
in-sync set shrinks and grows, leaders die with what nobody has copied. Whoever was told that a
counter stands somewhere is never told, by this coordinator or a later one, that it stands lower.
"""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

import pytest

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core.errors import ApiError
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.header import walk
from barnabas.storage.log.results import ReadBound
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid

from .counters import TOPIC, Counters, CounterShard
from .world import CONFIG, CoordinatorWorld

REPLICAS = (0, 1, 2)
NAMES = ("a", "b", "c")
STEPS = 400
REFUSALS = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


class Replica(CoordinatorWorld):
    """One broker: its log, and a coordinator that is awake while it leads."""

    def __init__(self, folder: Path, broker_id: int) -> None:
        super().__init__(folder / str(broker_id), TOPIC.name, 1)
        self.replicas._broker_id = broker_id
        self.broker_id = broker_id
        self.coordinator = Counters(
            self.metadata, self.clock, self.produces, self.fetches, self.disks.flush
        )
        self.shards, self.leadership = self.coordinator.shards, self.coordinator.leadership

    def take_role(self, leader: int, epoch: int, isr: tuple[int, ...]) -> Partition:
        """What LeaderAndIsr does."""
        return self.loop.run_until_complete(self._take_role(leader, epoch, isr))

    async def _take_role(self, leader: int, epoch: int, isr: tuple[int, ...]) -> Partition:
        info = PartitionInfo(0, leader, epoch, REPLICAS, isr)
        topic = TopicInfo(TOPIC.name, Uuid(b"o" * 16), (info,))
        partition = self.replicas.host(topic, info, CONFIG, self.clock.now_ms())
        if leader == self.broker_id:
            self.leadership.elected(partition)
        else:
            self.leadership.resigned(0)
        self.produces.complete(partition.key)
        return partition

    def settle(self) -> None:
        """Let it read what it has to."""
        if (shard := self.shards.find(0)) is not None and not shard.is_active:
            self.loop.run_until_complete(self.replayed())

    def close(self) -> None:
        self.loop.run_until_complete(self.leadership.stop())
        super().close()


class History:
    """A cluster of three, driven step by step; it checks what clients are told."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.brokers = [Replica(folder, broker_id) for broker_id in REPLICAS]
        self.isr, self.epoch, self.leader = REPLICAS, 0, 0
        self.told = dict.fromkeys(NAMES, 0)
        self.answers: list[tuple[str, int, list[ErrorCode]]] = []
        self.moves = self.acknowledged = self.read = 0
        self.lead(0)

    @property
    def leading(self) -> Replica:
        return self.brokers[self.leader]

    def lead(self, leader: int) -> None:
        """Elect a leader in the in-sync set; the others cut what it lacks."""
        self.leader, self.epoch, self.moves = leader, self.epoch + 1, self.moves + 1
        for broker in sorted(self.brokers, key=lambda each: each.broker_id != leader):
            partition = broker.take_role(leader, self.epoch, self.isr)
            if broker.broker_id != leader:
                shared = shared_end(self.leading.partition(), partition)
                partition.log.truncate_to(shared, broker.clock.now_ms())
        self.leading.settle()

    def step(self) -> None:
        """Something happens."""
        odds = {
            self.add: 30, self.look: 30, self.copy: 20, self.shrink: 2,
            self.grow: 15, self.fail: 10, self.touch: 3, self.wait: 2,
        }  # fmt: skip
        (what,) = self.chance.choices([*odds], [*odds.values()])
        what()
        self.hear()

    def add(self) -> None:
        name = self.chance.choice(NAMES)
        try:
            before = self.leading.shards.of(name).values.get(name, 0)
        except ApiError:
            before = 0
        self.answers.append((name, before + 1, self.leading.coordinator.add(name, 1)))

    def look(self) -> None:
        """A client asks where a counter stands."""
        name = self.chance.choice(NAMES)
        try:
            shard: CounterShard = self.leading.shards.of(name)
        except ApiError as error:
            assert error.code in REFUSALS
            return
        self.read += 1
        self.learn(name, shard.values.get(name, 0))

    def learn(self, name: str, value: int) -> None:
        assert value >= self.told[name], f"{name} stood at {self.told[name]}, and now at {value}"
        self.told[name] = value

    def hear(self) -> None:
        """Clients hear what has become of their additions."""
        for name, value, codes in self.answers:
            if codes == [ErrorCode.NONE]:
                self.acknowledged += 1
                self.told[name] = max(self.told[name], value)
            assert set(codes) <= {ErrorCode.NONE, *REFUSALS}
        self.answers = [answer for answer in self.answers if not answer[2]]

    def copy(self) -> None:
        """A follower fetches some of what it lacks; the leader learns of it."""
        follower = self.chance.choice([each for each in self.brokers if each is not self.leading])
        source, target = self.leading.partition().log, follower.partition().log
        if target.log_end_offset < source.log_end_offset:
            found = source.read(target.log_end_offset, 1 << 20, bound=ReadBound.LOG_END).records
            assert found is not None
            data = found.read()
            headers = list(walk(data))[: self.chance.randrange(1, 4)]
            size = sum(header.size_bytes for header in headers)
            target.append_as_follower(bytearray(data[:size]), follower.clock.now_ms())
        target.update_high_watermark(min(source.high_watermark, target.log_end_offset))
        self.advance()

    def advance(self) -> None:
        """The high watermark: what all in sync have."""
        leader = self.leading.partition()
        ends = [self.brokers[each].partition().log.log_end_offset for each in self.isr]
        leader.log.maybe_increment_high_watermark(min(ends))
        self.leading.produces.complete(leader.key)

    def agree(self, isr: tuple[int, ...]) -> None:
        self.isr = self.leading.partition().isr = isr
        self.advance()

    def shrink(self) -> None:
        """A follower that lags is not in sync any more."""
        lagging = [each for each in self.isr if each != self.leader]
        if len(lagging) > 0:
            out = self.chance.choice(lagging)
            self.agree(tuple(each for each in self.isr if each != out))

    def grow(self) -> None:
        """One that has caught up is in sync again."""
        leader = self.leading.partition().log
        for each in set(REPLICAS) - set(self.isr):
            if self.brokers[each].partition().log.log_end_offset >= leader.high_watermark:
                self.agree(tuple(sorted((*self.isr, each))))

    def fail(self) -> None:
        """The leader dies, or is moved: another in sync leads, which need not have everything."""
        others = [each for each in self.isr if each != self.leader]
        if others:
            self.isr = tuple(others)
            self.lead(self.chance.choice(others))

    def touch(self) -> None:
        """A new epoch of the same leader."""
        self.lead(self.leader)

    def wait(self) -> None:
        """As long as a write waits."""
        for broker in self.brokers:
            broker.clock.advance(TOPIC.write_timeout_ms)

    def close(self) -> None:
        for broker in self.brokers:
            broker.close()


def batches(partition: Partition) -> dict[int, tuple[int, int]]:
    """Every batch: its leader epoch, and where it ends."""
    log = partition.log
    found = log.read(0, 1 << 30, bound=ReadBound.LOG_END).records if log.log_end_offset else None
    headers = walk(found.read()) if found is not None else ()
    return {each.base_offset: (each.partition_leader_epoch, each.next_offset) for each in headers}


def shared_end(leader: Partition, follower: Partition) -> int:
    """Up to where two logs are the same: what a follower truncates to."""
    ours, theirs, end = batches(leader), batches(follower), 0
    while end in ours and ours[end] == theirs.get(end):
        end = ours[end][1]
    return end


@pytest.mark.parametrize("seed", range(12))
def test_what_was_told_is_never_taken_back(tmp_path: Path, seed: int) -> None:
    with closing(History(tmp_path, seed)) as history:
        for _ in range(STEPS):
            history.step()
        history.agree((history.leader,))
        for name in NAMES:
            history.learn(name, history.leading.shards.of(name).values.get(name, 0))
        assert history.moves > 5 and history.acknowledged > 20 and history.read > 20
