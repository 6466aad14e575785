"""Markers reach every partition's leader, whatever keeps them for a while."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any

import pytest

from barnabas.server.cluster.metadata import NO_LEADER, ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import ApiError, Unanswered
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.observing.logs import Logs
from barnabas.server.transactions.markers import (
    LONGEST_PAUSE_MS,
    EndedTransaction,
    MarkerSender,
)
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker
from barnabas.wire.uuids import ZERO_UUID
from tests.server.transactions.open_transactions import PRODUCER, ended

A, B, C = ("a", 0), ("a", 1), ("b", 0)
Answer = ErrorCode | Exception


class Brokers:
    """Leaders as a sender sees them; everything goes well where nothing else is said."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.metadata = ClusterMetadata()
        self.registered = {A, B, C}
        self.registry_error: Exception | None = None
        self.answers: dict[TopicPartition, list[Answer]] = {}
        self.held: dict[int, asyncio.Event] = {}
        self.asked: list[tuple[int, tuple[TopicPartition, ...]]] = []
        self.markers: list[WritableTxnMarker] = []
        self.sender = MarkerSender(
            self.metadata, self.ask, self.exists, self.clock, Logs("error").room("transactions")
        )
        self.lead(a=[1, 1], b=[1])

    def lead(self, **topics: list[int]) -> None:
        """Who leads the partitions of topics, by their number."""
        for name, leaders in topics.items():
            infos = tuple(PartitionInfo(n, led, 1, (0, 1), (led,)) for n, led in enumerate(leaders))
            self.metadata.set_topic(TopicInfo(name, ZERO_UUID, infos))

    async def ask(
        self, leader_id: int, marker: WritableTxnMarker
    ) -> Mapping[TopicPartition, ErrorCode]:
        keys = [(topic.name, n) for topic in marker.topics for n in topic.partition_indexes]
        self.asked.append((leader_id, tuple(keys)))
        self.markers.append(marker)
        if leader_id in self.held:
            await self.held[leader_id].wait()
        codes = {}
        for key in keys:
            answers = self.answers.get(key)
            answer = answers.pop(0) if answers else ErrorCode.NONE
            if isinstance(answer, Exception):
                raise answer
            codes[key] = answer
        return codes

    async def exists(self, topic: str, index: int) -> bool:
        if self.registry_error is not None:
            raise self.registry_error
        return (topic, index) in self.registered

    def begin(self, transaction: EndedTransaction) -> "asyncio.Task[None]":
        """Begin to make an end known."""
        return self.run(self._begin(self.sender.write(transaction)))

    async def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        await self._turns()
        return task

    async def _turns(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    def pass_time(self, times: int = 1) -> None:
        """The longest pause passes, so many times."""
        for _ in range(times):
            self.clock.advance(LONGEST_PAUSE_MS)
            self.run(self._turns())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    made = Brokers()
    yield made
    for task in asyncio.all_tasks(made.loop):
        task.cancel()
    made.run(made._turns())
    made.loop.close()


def test_each_leader_is_asked_once_for_all_that_it_leads(brokers: Brokers) -> None:
    brokers.lead(a=[1, 2], b=[1])
    task = brokers.begin(ended(A, B, C, marker_epoch=3, is_commit=False, coordinator_epoch=5))
    assert task.done()
    assert sorted(brokers.asked) == [(1, (A, C)), (2, (B,))]
    for marker in brokers.markers:
        assert (marker.producer_id, marker.producer_epoch) == (PRODUCER, 3)
        assert (marker.transaction_result, marker.coordinator_epoch) == (False, 5)


def test_a_transaction_without_partitions_has_nobody_to_tell(brokers: Brokers) -> None:
    assert brokers.begin(ended()).done()
    assert brokers.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.MESSAGE_TOO_LARGE,  # Kafka gives up here, and readers wait for ever
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        Unanswered("the answer was lost"),
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again(brokers: Brokers, answer: Answer) -> None:
    brokers.answers[A] = [answer] * 20
    task = brokers.begin(ended(A, C))
    brokers.pass_time(19)
    assert not task.done()
    brokers.pass_time()
    assert task.done() and task.exception() is None
    assert A in brokers.asked[-1][1] and len(brokers.asked) == 21


@pytest.mark.broker_says("markers were not sent")
def test_a_bug_on_the_way_loses_no_marker(brokers: Brokers) -> None:
    brokers.answers[A] = [RuntimeError("a bug")]
    task = brokers.begin(ended(A))
    brokers.pass_time()
    assert task.done() and task.exception() is None


def test_only_what_is_left_is_asked_again(brokers: Brokers) -> None:
    brokers.answers[B] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    brokers.begin(ended(A, B, C))
    brokers.pass_time()
    assert brokers.asked == [(1, (A, B, C)), (1, (B,))]


@pytest.mark.parametrize(
    "code", [ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.UNSUPPORTED_VERSION]
)
def test_a_partition_that_knows_no_transactions_needs_no_marker(
    brokers: Brokers, code: ErrorCode
) -> None:
    brokers.answers[A] = [code]
    assert brokers.begin(ended(A, C)).done()


def test_one_that_the_answer_does_not_name_is_asked_again(brokers: Brokers) -> None:
    async def forgets(leader_id: int, marker: WritableTxnMarker) -> dict[TopicPartition, ErrorCode]:
        answered = await brokers.ask(leader_id, marker)
        return {} if len(brokers.asked) == 1 else dict(answered)

    brokers.sender._ask = forgets
    task = brokers.begin(ended(A))
    assert not task.done()
    brokers.pass_time()
    assert task.done()


# Leaders come and go.


def test_the_marker_follows_the_leader(brokers: Brokers) -> None:
    brokers.answers[A] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    brokers.begin(ended(A, B))
    brokers.lead(a=[2, 1])
    brokers.pass_time()
    assert brokers.asked == [(1, (A, B)), (2, (A,))]


def test_a_leader_that_does_not_answer_holds_up_no_other(brokers: Brokers) -> None:
    brokers.lead(a=[1, 2], b=[1])
    brokers.held[2] = asyncio.Event()
    brokers.answers[A] = [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 3
    task = brokers.begin(ended(A, B, C))
    brokers.pass_time(3)
    assert [keys for leader, keys in brokers.asked if leader == 1] == [(A, C), (A,), (A,), (A,)]
    assert not task.done()
    brokers.held[2].set()
    brokers.pass_time()
    assert task.done()


def test_partitions_that_part_ways_are_asked_for_apart(brokers: Brokers) -> None:
    brokers.answers = {A: [ErrorCode.NOT_LEADER_OR_FOLLOWER], B: [ErrorCode.KAFKA_STORAGE_ERROR]}
    task = brokers.begin(ended(A, B))
    brokers.lead(a=[2, 3])
    brokers.pass_time()
    assert sorted(brokers.asked[1:]) == [(2, (A,)), (3, (B,))]
    assert task.done()


def forget(brokers: Brokers) -> None:
    brokers.metadata.remove_topics(["a"])


def lose_leaders(brokers: Brokers) -> None:
    brokers.lead(a=[NO_LEADER, NO_LEADER])


def shrink(brokers: Brokers) -> None:
    brokers.lead(a=[])


@pytest.mark.parametrize("how", [forget, lose_leaders, shrink])
def test_a_partition_without_a_leader_yet_is_waited_for(
    brokers: Brokers, how: Callable[[Brokers], None]
) -> None:
    """Right after a start nobody leads, and topics are not known yet (KAFKA-20734)."""
    how(brokers)
    task = brokers.begin(ended(A, C))
    brokers.pass_time(100)
    assert not task.done()
    assert brokers.asked == [(1, (C,))]
    brokers.lead(a=[1, 1])
    brokers.pass_time()
    assert task.done() and brokers.asked[-1] == (1, (A,))


def test_a_partition_that_was_deleted_needs_no_marker(brokers: Brokers) -> None:
    forget(brokers)
    brokers.registered = {C}
    task = brokers.begin(ended(A, C))
    brokers.pass_time()
    assert task.done() and task.exception() is None
    assert brokers.asked == [(1, (C,))]


@pytest.mark.parametrize(
    "error",
    [
        ApiError(ErrorCode.REQUEST_TIMED_OUT),
        pytest.param(
            RuntimeError("a bug"), marks=pytest.mark.broker_says("the registry was not asked")
        ),
    ],
    ids=["refusal", "bug"],
)
def test_a_registry_that_cannot_be_asked_says_nothing(brokers: Brokers, error: Exception) -> None:
    forget(brokers)
    brokers.registered, brokers.registry_error = {C}, error
    task = brokers.begin(ended(A))
    brokers.pass_time(3)
    assert not task.done()
    brokers.registry_error = None
    brokers.pass_time()
    assert task.done()


# It is not this coordinator's any more.


def test_another_coordinator_ends_it_at_once(brokers: Brokers) -> None:
    brokers.lead(a=[1, NO_LEADER])
    brokers.answers[A] = [ErrorCode.TRANSACTION_COORDINATOR_FENCED]
    task = brokers.begin(ended(A, B))
    error = task.exception()
    assert isinstance(error, ApiError)
    assert error.code is ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_another_epoch_of_the_producer_is_told_when_the_others_are_done(brokers: Brokers) -> None:
    """Kafka stops there, and readers of the other partitions wait for ever."""
    brokers.answers = {A: [ErrorCode.INVALID_PRODUCER_EPOCH], B: [ErrorCode.KAFKA_STORAGE_ERROR]}
    task = brokers.begin(ended(A, B, C))
    assert not task.done()
    brokers.pass_time()
    error = task.exception()
    assert isinstance(error, ApiError)
    assert (error.code, error.message) == (ErrorCode.INVALID_PRODUCER_EPOCH, "a-0")
    assert brokers.asked == [(1, (A, B, C)), (1, (B,))]


def test_one_that_is_cancelled_asks_nobody_any_more(brokers: Brokers) -> None:
    brokers.lead(a=[1, 2])
    brokers.answers = {A: [ErrorCode.KAFKA_STORAGE_ERROR] * 9, B: [ErrorCode.REQUEST_TIMED_OUT] * 9}
    task = brokers.begin(ended(A, B))
    brokers.pass_time()
    asked = len(brokers.asked)
    task.cancel()
    brokers.pass_time(5)
    assert task.cancelled() and len(brokers.asked) == asked
    assert brokers.clock.timer_count() == 0
