"""The cache of fetch sessions: bounded by sessions and by their partitions."""

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.replication.fetch_sessions import (
    EVICTION_MS,
    MOST_PARTITIONS,
    MOST_PARTITIONS_IN_ALL,
    FetchSessions,
    Session,
    wanted_in_steps,
    wanted_of,
)
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from barnabas.wire.uuids import Uuid
from tests.wire.steps import finished


def nobody(_: Uuid) -> None:
    return None


def request(
    partitions: range, session: tuple[int, int] = (0, 0), forgotten: range = range(0)
) -> FetchRequest:
    wanted = [FetchPartition(partition=n, partition_max_bytes=1) for n in partitions]
    return FetchRequest(
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic="t", partitions=wanted)],
        forgotten_topics_data=[ForgottenTopic(topic="t", partitions=list(forgotten))],
    )


def begin(sessions: FetchSessions, asked: FetchRequest, now_ms: float = 0) -> Session | None:
    wanted = wanted_of(asked, False, nobody)
    return sessions.begin(asked, False, wanted, nobody, now_ms)[0]


def test_partitions_that_nobody_knows_are_kept_like_others() -> None:
    """As Kafka does: the session answers for them each time, they may come to be."""
    sessions = FetchSessions(lambda: 10)
    session = begin(sessions, request(range(3)))
    assert session is not None
    assert [index for _, index in session.partitions] == [0, 1, 2]


def test_a_session_of_too_many_partitions_is_not_opened() -> None:
    sessions = FetchSessions(lambda: 10)
    assert begin(sessions, request(range(MOST_PARTITIONS + 1))) is None
    assert begin(sessions, request(range(MOST_PARTITIONS))) is not None
    assert (len(sessions), sessions.partition_count) == (1, MOST_PARTITIONS)


def test_a_session_that_grows_too_large_is_forgotten() -> None:
    sessions = FetchSessions(lambda: 10)
    session = begin(sessions, request(range(MOST_PARTITIONS)))
    assert session is not None
    more = request(range(MOST_PARTITIONS, MOST_PARTITIONS + 1), (session.session_id, 1))
    with pytest.raises(ApiError) as caught:
        begin(sessions, more)
    assert caught.value.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 0


def test_all_sessions_together_have_so_many_partitions() -> None:
    sessions = FetchSessions(lambda: 1000)
    size = MOST_PARTITIONS_IN_ALL // 10
    opened = [begin(sessions, request(range(size))) for _ in range(11)]
    assert [each is None for each in opened] == [False] * 10 + [True]
    # What has been unused for two minutes yields, to one that fits into its place.
    late_ms = EVICTION_MS + 1
    assert begin(sessions, request(range(size + 1)), late_ms) is None
    assert begin(sessions, request(range(size)), late_ms) is not None
    assert sessions.partition_count <= MOST_PARTITIONS_IN_ALL
    assert sessions.evicted_count == 1


def test_sessions_that_grow_have_no_more_in_all_than_those_that_are_opened() -> None:
    sessions = FetchSessions(lambda: 1000)
    room_for = MOST_PARTITIONS_IN_ALL // MOST_PARTITIONS
    opened = [begin(sessions, request(range(1))) for _ in range(room_for + 2)]
    codes = []
    for session in opened:
        assert session is not None
        try:
            begin(sessions, request(range(MOST_PARTITIONS), (session.session_id, 1)))
            codes.append(ErrorCode.NONE)
        except ApiError as error:
            codes.append(error.code)
        assert sessions.partition_count <= MOST_PARTITIONS_IN_ALL
    refused = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert codes == [ErrorCode.NONE] * (room_for - 1) + [refused, refused, ErrorCode.NONE]


def test_a_session_that_changes_what_it_has_does_not_grow() -> None:
    sessions = FetchSessions(lambda: 10)
    session = begin(sessions, request(range(MOST_PARTITIONS)))
    assert session is not None
    assert begin(sessions, request(range(MOST_PARTITIONS), (session.session_id, 1))) is session


def test_a_session_that_has_forgotten_all_is_over() -> None:
    """As in Kafka: the answer belongs to none, and the id is not known any more."""
    sessions = FetchSessions(lambda: 10)
    session = begin(sessions, request(range(2)))
    assert session is not None
    assert begin(sessions, request(range(0), (session.session_id, 1), range(2))) is None
    assert len(sessions) == 0


@pytest.mark.parametrize("epoch", [-2, -(2**31), 2, 2**31 - 1])
def test_an_epoch_that_is_not_the_next_is_refused(epoch: int) -> None:
    sessions = FetchSessions(lambda: 10)
    session = begin(sessions, request(range(2)))
    assert session is not None
    for session_id, code in (
        (session.session_id, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (0, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
    ):
        with pytest.raises(ApiError) as caught:
            begin(sessions, request(range(2), (session_id, epoch)))
        assert caught.value.code is code
    assert list(sessions._sessions.values()) == [session]


def test_a_wrong_epoch_is_told_before_a_change_to_topic_ids() -> None:
    sessions = FetchSessions(lambda: 10)
    session = begin(sessions, request(range(2)))
    assert session is not None
    for epoch, code in (
        (9, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ):
        asked = request(range(0), (session.session_id, epoch))
        with pytest.raises(ApiError) as caught:
            sessions.begin(asked, True, wanted_of(asked, True, nobody), nobody, 0)
        assert caught.value.code is code


def test_what_a_large_request_names_is_gathered_in_steps() -> None:
    asked = request(range(3_000))
    gathered = finished(wanted_in_steps(asked, False, nobody))
    assert gathered.steps >= 10
    assert list(gathered.value) == list(wanted_of(asked, False, nobody))
