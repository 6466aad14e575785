"""What a controller says to a leader that wants its in-sync set changed."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.controller.control_messages import Told
from barnabas.server.controller.isr_changes import ANY_EPOCH, Verdict, Wanted, judge
from barnabas.server.controller.leading import Leading
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import PartitionState
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.controller.in_sync import controller_of, create_replicated, state_of
from tests.server.waiting import eventually

REPLICAS = (1, 2, 3)
EPOCHS = {1: 101, 2: 102, 3: 103, 4: 104}
STATE = PartitionState(1, 5, [1, 2], 9)
KNOWN = Told("t", Uuid(b"t" * 16), 0, STATE, 7, REPLICAS)


def any_epoch(*isr: int) -> dict[int, int]:
    return dict.fromkeys(isr, ANY_EPOCH)


WANTED = Wanted(1, 5, 7, any_epoch(1, 2, 3))


def said(wanted: Wanted, known: Told | None = KNOWN, version: int = 3) -> Verdict:
    return judge(known, wanted, EPOCHS.keys(), EPOCHS, version)


def test_a_set_of_live_replicas_is_written_in_the_epoch_of_the_leader() -> None:
    assert said(WANTED) == PartitionState(1, 5, [1, 2, 3], 9)
    assert said(WANTED._replace(isr={1: ANY_EPOCH, 3: 103})) == PartitionState(1, 5, [1, 3], 9)
    recovering = KNOWN._replace(state=STATE._replace(isr=[1], leader_recovery_state=1))
    assert said(WANTED._replace(isr=any_epoch(1)), recovering) == STATE._replace(isr=[1])


@pytest.mark.parametrize(
    "wanted, code",
    [
        (WANTED._replace(leader_epoch=4), ErrorCode.FENCED_LEADER_EPOCH),
        (WANTED._replace(leader_epoch=6), ErrorCode.NOT_CONTROLLER),
        (WANTED._replace(partition_epoch=8), ErrorCode.NOT_CONTROLLER),
        (WANTED._replace(partition_epoch=6), ErrorCode.INVALID_UPDATE_VERSION),
        (WANTED._replace(leader_id=2), ErrorCode.INVALID_REQUEST),
        (WANTED._replace(isr=any_epoch(2, 3)), ErrorCode.INVALID_REQUEST),
        (WANTED._replace(isr=any_epoch(1, 4)), ErrorCode.INVALID_REQUEST),
        (WANTED._replace(isr={}), ErrorCode.INVALID_REQUEST),
        (WANTED._replace(leader_recovery_state=1), ErrorCode.INVALID_REQUEST),
        (WANTED._replace(isr={1: ANY_EPOCH, 3: 99}), ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_wish_of_the_wrong_time_or_kind_is_refused(wanted: Wanted, code: ErrorCode) -> None:
    assert said(wanted) is code


def test_what_is_so_already_may_be_asked_for_again() -> None:
    """As after an answer that was lost: the partition epoch is that of before."""
    assert said(WANTED._replace(isr=any_epoch(2, 1), partition_epoch=6)) is None


@pytest.mark.parametrize(
    "version, code",
    [(1, ErrorCode.OPERATION_NOT_ATTEMPTED), (2, ErrorCode.INELIGIBLE_REPLICA)],
)
def test_who_is_not_online_is_not_in_sync(version: int, code: ErrorCode) -> None:
    assert judge(KNOWN, WANTED, {1, 2}, EPOCHS, version) is code


def test_a_partition_nobody_knows() -> None:
    assert said(WANTED, None) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@given(
    wanted=st.builds(
        Wanted,
        st.integers(1, 4), st.integers(4, 6), st.integers(6, 8),
        st.dictionaries(st.integers(1, 5), st.sampled_from([ANY_EPOCH, 101, 102, 103])),
        st.integers(0, 1),
    ),
    online=st.frozensets(st.integers(1, 5)),
)  # fmt: skip
def test_what_is_written_is_a_set_of_online_replicas_with_their_leader(
    wanted: Wanted, online: frozenset[int]
) -> None:
    state = judge(KNOWN, wanted, online, EPOCHS, 3)
    if isinstance(state, PartitionState):
        assert state.leader in state.isr and set(state.isr) <= online & set(REPLICAS)
        assert (state.leader, state.leader_epoch) == (STATE.leader, STATE.leader_epoch)


@pytest.mark.broker_says("lost the office of controller")
def test_a_set_is_written_by_the_controller_that_rules_now(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            await create_replicated(cluster, "t", [1, 0])
            before = await state_of(cluster, "t")
            await cluster.ensemble.connect().delete(paths.CONTROLLER)
            await eventually(lambda: ruling(cluster) == [before.controller_epoch + 1])
            controller = controller_of(cluster).controller
            await controller.in_turn("shrink it", partial(shrink, controller.decisions.leading))
            assert await state_of(cluster, "t") == before._replace(
                isr=[1], controller_epoch=before.controller_epoch + 1
            )

    def ruling(cluster: Cluster) -> list[int]:
        epochs = (each.controller.epoch for each in cluster.brokers.values())
        return [epoch.epoch for epoch in epochs if epoch is not None]

    async def shrink(leading: Leading) -> None:
        known = leading.find("t", 0)
        assert known is not None
        await leading.write({("t", 0): known.state._replace(isr=[1])})

    asyncio.run(scene())
