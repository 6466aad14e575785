"""A fetch session from the fetcher's side: what is told, and what an answer may be."""

from typing import Any, cast

import pytest

from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.replication.fetching.followed import Followed
from barnabas.server.replication.fetching.session import (
    MOST_TOLD,
    Asked,
    FetchSession,
    Unusable,
    Wish,
)
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from barnabas.wire.uuids import ZERO_UUID, Uuid

ID, OTHER_ID = Uuid(bytes([1]) * 16), Uuid(bytes([2]) * 16)
SESSION = 77


class Epoch:
    """As much of what is followed as a session looks at."""

    leader_epoch = 3


class Wanted:
    """What is wanted, to be changed by a test; and the session that tells of it."""

    def __init__(self, **how: Any) -> None:
        given = {"has_epochs": True, "may_use_ids": True, "most_bytes": lambda: 100, **how}
        self.session = FetchSession(**given)
        self.wishes: dict[TopicPartition, Wish] = {}
        self.epoch = cast(Followed, Epoch())

    def want(self, index: int, offset: int = 0, topic_id: Uuid = ID, name: str = "t") -> None:
        self.wishes[name, index] = Wish(self.epoch, topic_id, offset, 2, 1)

    def ask(self) -> Asked | None:
        known = {*self.wishes, *self.session._wishes}
        return self.session.ask(known, self.wishes, self.wishes.get)

    def told(self) -> tuple[int, int, list[tuple[int, int]], list[int]]:
        """Session and epoch, (partition, offset) of what is named, and what is forgotten."""
        asked = self.ask()
        assert asked is not None
        return (
            asked.session_id,
            asked.session_epoch,
            [(p.partition, p.fetch_offset) for topic in asked.topics for p in topic.partitions],
            [index for topic in asked.forgotten for index in topic.partitions],
        )

    def answered(self, *indexes: int, session_id: int = SESSION, topic_id: Uuid = ID) -> int:
        data = [
            PartitionData(partition_index=each, high_watermark=0, records=None) for each in indexes
        ]
        topics = [FetchableTopicResponse(topic="t", topic_id=topic_id, partitions=data)]
        answer = FetchResponse(session_id=session_id, responses=topics if indexes else [])
        return len(list(self.session.take(answer)))


def test_everything_is_told_once_and_then_what_changes() -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.want(1)
    assert wanted.told() == (0, 0, [(0, 0), (1, 0)], [])
    assert wanted.answered(0, 1) == 2
    assert wanted.told() == (SESSION, 1, [], [])
    assert wanted.answered() == 0
    wanted.want(1, offset=5)
    wanted.want(2)
    del wanted.wishes["t", 0]
    session, epoch, named, forgotten = wanted.told()
    assert (session, epoch, sorted(named), forgotten) == (SESSION, 2, [(1, 5), (2, 0)], [0])


def test_nothing_is_asked_where_nothing_is_wanted_but_that_is_told_once() -> None:
    wanted = Wanted()
    assert wanted.ask() is None
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.wishes.clear()
    assert wanted.told() == (SESSION, 1, [], [0])
    wanted.answered()
    assert wanted.ask() is None


@pytest.mark.parametrize("how", [{"has_epochs": False}, {}])
def test_without_a_session_everything_is_told_each_time(how: dict[str, bool]) -> None:
    wanted = Wanted(**how)
    wanted.want(0)
    for _ in range(2):
        session, _, named, _ = wanted.told()
        assert (session, named) == (0, [(0, 0)])
        wanted.answered(0, session_id=0)


def test_a_session_that_the_leader_has_lost_is_begun_anew() -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.told()
    with pytest.raises(Unusable):
        wanted.session.take(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
    assert wanted.told() == (0, 0, [(0, 0)], [])


@pytest.mark.parametrize("code", [ErrorCode.INVALID_FETCH_SESSION_EPOCH, 12_345])
def test_a_session_of_another_epoch_is_closed_by_the_next(code: int) -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.told()
    with pytest.raises(Unusable):
        wanted.session.take(FetchResponse(error_code=code))
    assert wanted.told() == (SESSION, 0, [(0, 0)], [])


def test_a_request_without_an_answer_closes_the_session() -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.want(0, offset=9)
    wanted.told()
    wanted.session.restart()
    assert wanted.told() == (SESSION, 0, [(0, 9)], [])


@pytest.mark.parametrize("indexes", [(), (0,), (0, 1, 2), (0, 7)])
def test_a_whole_answer_has_what_was_asked_and_nothing_else(indexes: tuple[int, ...]) -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.want(1)
    wanted.told()
    with pytest.raises(Unusable):
        wanted.answered(*indexes)
    assert wanted.told() == (0, 0, [(0, 0), (1, 0)], [])


def test_a_later_answer_has_nothing_that_is_not_in_the_session() -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.told()
    with pytest.raises(Unusable):
        wanted.answered(3)


def test_a_topic_made_again_is_another_one_by_its_id() -> None:
    wanted = Wanted()
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.want(0, topic_id=OTHER_ID)
    asked = wanted.ask()
    assert asked is not None
    assert [(topic.topic_id, topic.partitions) for topic in asked.forgotten] == [(ID, [0])]
    assert [topic.topic_id for topic in asked.topics] == [OTHER_ID]
    with pytest.raises(Unusable):
        wanted.answered(0)  # of the old one


def test_a_topic_made_again_is_told_anew_under_its_name() -> None:
    wanted = Wanted(may_use_ids=False)
    wanted.want(0)
    wanted.told()
    wanted.answered(0)
    wanted.want(0, offset=4, topic_id=OTHER_ID)
    assert wanted.told() == (SESSION, 1, [(0, 4)], []), "to forget the name would forget it all"


def test_ids_are_used_where_every_topic_has_one() -> None:
    wanted = Wanted()
    wanted.want(0)
    asked = wanted.ask()
    assert asked is not None and asked.by_id
    wanted.answered(0)
    wanted.want(0, topic_id=ZERO_UUID, name="old")
    asked = wanted.ask()
    assert asked is not None and not asked.by_id
    assert (asked.session_id, asked.session_epoch, len(asked.topics)) == (SESSION, 0, 2)
    named = [FetchableTopicResponse(topic=name, partitions=[PartitionData(
        partition_index=0, high_watermark=0, records=None)]) for name in ("t", "old")]  # fmt: skip
    assert len(list(wanted.session.take(FetchResponse(session_id=8, responses=named)))) == 2
    del wanted.wishes["old", 0]
    asked = wanted.ask()
    assert asked is not None and asked.by_id and asked.session_epoch == 0


def test_a_session_of_many_partitions_grows_with_each_request() -> None:
    wanted, count = Wanted(), 2 * MOST_TOLD + 7
    for index in range(count):
        wanted.want(index)
    named, keys = [], list(wanted.wishes)
    for _ in range(3):
        asked = wanted.session.ask(keys, keys, wanted.wishes.get)
        assert asked is not None
        indexes = [each.partition for topic in asked.topics for each in topic.partitions]
        named.append(len(indexes))
        wanted.answered(*indexes)
        keys = asked.left
    assert named == [MOST_TOLD, MOST_TOLD, 7] and not keys


def test_without_a_session_many_partitions_are_told_of_at_once() -> None:
    wanted, count = Wanted(), MOST_TOLD + 7
    for index in range(count):
        wanted.want(index)
    asked = wanted.ask()
    assert asked is not None and len(asked.left) == 7
    wanted.answered(*range(MOST_TOLD), session_id=0)
    asked = wanted.ask()
    assert asked is not None and not asked.left and len(asked.topics[0].partitions) == count
