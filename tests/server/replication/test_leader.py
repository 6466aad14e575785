"""A partition as the leader of followers keeps it: their progress, what is committed, the ISR."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.server.core.errors import ApiError
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.isr_states import TRANSITIONS, IsrChange, IsrEvent, IsrState
from barnabas.server.replication.partition import Partition
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid
from tests.server.replication.leaders import MAX_LAG_MS, AskedFor
from tests.storage.logs import NOW_MS, a_batch

ALL = (1, 2, 3)


class Led:
    """Partition "t"-0, led by broker 1, with followers 2 and 3."""

    def __init__(self, folder: Path, isr: tuple[int, ...] = ALL) -> None:
        self.disks = LogManager([str(folder)])
        self.disks.open(lambda _: LogConfig(), NOW_MS)
        log = self.disks.create(TopicPartition("t", 0), LogConfig(), NOW_MS)
        self.asked = AskedFor()
        counts = Metrics().topic("t")
        self.partition = Partition("t", Uuid(b"t" * 16), 0, 1, log, counts, self.asked.parts)
        self.partition.become_leader(1, ALL, isr, partition_epoch=5, controller_epoch=9)

    @property
    def high_watermark(self) -> int:
        return self.partition.log.high_watermark

    @property
    def change(self) -> IsrChange:
        return self.asked.changes[-1]

    def append(self, count: int = 1, acks: int = 1) -> None:
        self.partition.append(a_batch(count), acks, NOW_MS)

    def fetch(self, replica_id: int, offset: int, log_start: int = 0) -> bool:
        return self.partition.follower_fetched(replica_id, 70 + replica_id, offset, log_start)

    def wait(self, ms: float) -> None:
        self.asked.clock.advance(ms)

    def agree(self, isr: tuple[int, ...] | None = None, partition_epoch: int = 6) -> bool:
        agreed = self.change.isr if isr is None else isr
        return self.partition.isr_agreed(self.change, 1, agreed, partition_epoch)

    def demand(self, min_insync_replicas: int) -> None:
        log = self.partition.log
        log.update_config(dataclasses.replace(log.config, min_insync_replicas=min_insync_replicas))


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Led]:
    made = Led(tmp_path)
    yield made
    made.disks.close()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Led]:
    """In sync is the leader only."""
    made = Led(tmp_path, (1,))
    yield made
    made.disks.close()


def test_what_all_in_sync_have_asked_to_go_on_from_is_committed(led: Led) -> None:
    led.append(3)
    assert led.high_watermark == 0
    led.fetch(2, 3)
    assert led.high_watermark == 0
    assert led.fetch(3, 2) and led.high_watermark == 2
    assert led.fetch(3, 3) and led.high_watermark == 3
    assert not led.fetch(3, 3), "nothing has come of it"


def test_a_new_leader_commits_nothing_before_its_followers_have_fetched(led: Led) -> None:
    led.append(3)
    led.fetch(2, 3)
    led.fetch(3, 3)
    led.append(2)
    partition = led.partition
    partition.become_follower(2, 2, ALL, ALL)
    assert not partition.followers
    partition.become_leader(3, ALL, ALL, partition_epoch=7)
    assert led.high_watermark == 3
    assert [of.log_end_offset for of in partition.followers.values()] == [-1, -1]
    led.fetch(2, 5)
    assert led.high_watermark == 3
    led.fetch(3, 5)
    assert led.high_watermark == 5


def test_a_leader_that_leads_on_knows_how_far_its_followers_are(led: Led) -> None:
    led.append(3)
    led.fetch(2, 3)
    led.partition.become_leader(2, (1, 2), (1, 2), partition_epoch=7)
    assert led.high_watermark == 3, "broker 3 is waited for no more"
    assert list(led.partition.followers) == [2]


def test_the_offset_of_a_follower_without_its_epoch_moves_nobody_into_the_set(alone: Led) -> None:
    alone.append(3)
    assert alone.high_watermark == 3
    alone.fetch(2, 2)
    assert alone.partition.isr_state is IsrState.COMMITTED
    alone.fetch(2, 3)
    assert alone.partition.isr_state is IsrState.EXPANDING
    change = alone.change
    assert (change.isr, change.broker_epochs) == ((1, 2), [-1, 72])
    assert (change.leader_epoch, change.partition_epoch, change.controller_epoch) == (1, 5, 9)


def test_who_is_about_to_join_is_waited_for_and_who_is_about_to_leave_still_is(led: Led) -> None:
    led.append(3)
    led.fetch(2, 3)
    led.wait(MAX_LAG_MS + 1)
    led.fetch(2, 3)
    assert led.partition.maybe_shrink_isr() == {3}
    assert led.partition.maybe_shrink_isr() == set(), "one change at a time"
    assert led.change.isr == (1, 2) and led.high_watermark == 0
    assert led.agree() and led.high_watermark == 3
    led.fetch(3, 3)
    assert led.change.isr == (1, 2, 3) and led.partition.isr == (1, 2)
    led.append(2)
    led.fetch(2, 5)
    assert led.high_watermark == 3
    assert not led.agree(partition_epoch=7)
    assert led.partition.isr == ALL and led.partition.partition_epoch == 7
    assert (led.asked.parts.expansions, led.asked.parts.shrinks) == (1, 1)


def test_a_leader_alone_waits_for_who_could_join(alone: Led) -> None:
    alone.append(2)
    alone.asked.dead.add(2)
    alone.fetch(2, 2)
    assert alone.partition.isr_state is IsrState.COMMITTED, "it is not alive"
    alone.append(2)
    assert alone.high_watermark == 4
    alone.asked.dead.clear()
    alone.append(2)
    assert alone.high_watermark == 4
    alone.wait(MAX_LAG_MS + 1)
    assert alone.partition.advance_high_watermark() and alone.high_watermark == 6


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_was_certainly_not_done_is_asked_for_again_at_the_next_fetch(
    alone: Led, code: ErrorCode
) -> None:
    alone.fetch(2, 0)
    assert not alone.partition.isr_refused(alone.change, code)
    assert alone.partition.isr_state is IsrState.COMMITTED
    alone.fetch(2, 0)
    assert len(alone.asked.changes) == 2 and alone.partition.maximal_isr == (1, 2)


@pytest.mark.parametrize(
    "code, is_repeated",
    [
        (ErrorCode.FENCED_LEADER_EPOCH, False),
        (ErrorCode.INVALID_UPDATE_VERSION, False),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, False),
        (ErrorCode.NOT_CONTROLLER, True),
        (ErrorCode.UNKNOWN_SERVER_ERROR, True),
    ],
)
def test_what_may_have_been_done_stays_asked_for_until_the_controller_speaks(
    alone: Led, code: ErrorCode, is_repeated: bool
) -> None:
    alone.fetch(2, 0)
    change = alone.change
    assert alone.partition.isr_refused(change, code) is is_repeated
    assert alone.partition.isr_state is IsrState.EXPANDING
    alone.wait(MAX_LAG_MS + 1)
    alone.append(1)
    assert alone.high_watermark == 0, "it may be in sync by now, however far behind"
    alone.partition.become_leader(2, ALL, (1,), partition_epoch=7)
    assert alone.partition.isr_state is IsrState.COMMITTED
    assert not alone.partition.waits_for(change)
    assert not alone.partition.isr_agreed(change, 1, (1, 2), 6) and alone.partition.isr == (1,)


def test_nothing_is_committed_while_fewer_are_in_sync_than_are_demanded(alone: Led) -> None:
    alone.demand(2)
    alone.append(3)
    assert alone.high_watermark == 0
    with pytest.raises(ApiError) as refusal:
        alone.append(1, acks=-1)
    assert refusal.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    alone.fetch(2, 3)
    assert alone.high_watermark == 0
    assert alone.agree() and alone.high_watermark == 3


def test_a_stranger_is_told_to_ask_again(led: Led) -> None:
    for epoch, code in [
        (1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ]:
        with pytest.raises(ApiError) as refusal:
            led.partition.require_follower(7, epoch)
        assert refusal.value.code is code


def test_a_follower_that_deletes_raises_the_low_watermark(led: Led) -> None:
    led.append(4)
    led.fetch(2, 4)
    led.fetch(3, 4)
    led.partition.log.maybe_increment_log_start_offset(3)
    assert led.partition.low_watermark == 0
    assert led.fetch(2, 4, 3) and led.partition.low_watermark == 0
    assert led.fetch(3, 4, 2) and led.partition.low_watermark == 2


def test_every_end_of_a_change_leads_back() -> None:
    for state in IsrState:
        assert TRANSITIONS[state, IsrEvent.TOLD] is IsrState.COMMITTED
    for state in (IsrState.EXPANDING, IsrState.SHRINKING):
        assert {TRANSITIONS[state, e] for e in (IsrEvent.AGREED, IsrEvent.REFUSED)} == {
            IsrState.COMMITTED
        }
        assert (state, IsrEvent.CAUGHT_UP) not in TRANSITIONS, "one change at a time"


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("fetch"), st.integers(2, 3), st.integers(0, 4)),
        st.tuples(st.just("wait"), st.sampled_from([10.0, MAX_LAG_MS / 2, MAX_LAG_MS + 1])),
        st.tuples(st.just("shrink")),
        st.tuples(st.just("agree")),
        st.tuples(st.just("refuse"), st.sampled_from([*ErrorCode][1:])),
        st.tuples(st.just("elect"), st.sampled_from([(1,), (1, 2), (1, 3), ALL])),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS)
def test_in_any_history_all_in_sync_hold_what_is_committed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[object, ...]]
) -> None:
    """Followers hold what they have ever fetched from: nothing is ever committed above that."""
    led = Led(tmp_path_factory.mktemp("led"))
    partition, held, epoch = led.partition, {2: 0, 3: 0}, 1
    committed = 0
    try:
        for step in steps:
            match step:
                case ("append", int(count)):
                    led.append(count)
                case ("fetch", int(replica_id), int(more)):
                    held[replica_id] = min(held[replica_id] + more, partition.log.log_end_offset)
                    led.fetch(replica_id, held[replica_id])
                case ("wait", float(ms)):
                    led.wait(ms)
                case ("shrink",):
                    partition.maybe_shrink_isr()
                    partition.advance_high_watermark()
                case ("agree",) if led.asked.changes:
                    change = led.change
                    partition.isr_agreed(change, epoch, change.isr, partition.partition_epoch + 1)
                case ("refuse", ErrorCode() as code) if led.asked.changes:
                    partition.isr_refused(led.change, code)
                case ("elect", tuple(isr)):
                    in_sync = tuple(each for each in isr if each in partition.isr)
                    epoch += 1
                    partition.become_leader(
                        epoch, ALL, in_sync, partition_epoch=partition.partition_epoch + 1
                    )
            assert led.high_watermark >= committed, "it fell"
            committed = led.high_watermark
            assert all(held[each] >= committed for each in partition.isr if each != 1)
            assert set(partition.isr) <= set(partition.maximal_isr) <= set(ALL)
            assert 1 in partition.isr
    finally:
        led.disks.close()
