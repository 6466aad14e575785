"""Incremental fetch sessions (KIP-227): what a client wants is kept, it sends only changes.

    request (session id, epoch)          answer
    (0, -1) or (id, -1)  full, no session (and close `id`)
    (0, 0)  or (id, 0)   full, opens a session if the cache has room (and closes `id`)
    (id, n > 0)          incremental: the changes are applied to the kept partitions; if they
                         leave none, the session ends
    otherwise            FETCH_SESSION_ID_NOT_FOUND or INVALID_FETCH_SESSION_EPOCH

A session by topic ids keeps the name that each id had, as Kafka's does, so that a topic that is
deleted and one that took its name are told apart.

Partitions rotate: those that got data go to the end, so that a busy first partition cannot
starve the rest. The cache holds `max.incremental.fetch.session.cache.slots` sessions. A new
one may take the place of the session unused longest, if that was for two minutes, or of a
smaller one that has had its two minutes; a follower's session never yields to a consumer's.

Kafka bounds the sessions alone, and a session by nothing but the size of a request. Here the
partitions are bounded, too: those of one session, and those of all together. A client whose
session finds no room is answered without one, as it is when all slots are taken, and names its
partitions each time.
"""

import random
from collections.abc import Callable, Iterable
from typing import Final

from barnabas.server.core.errors import ApiError
from barnabas.server.replication.fetcher import replica_id_of
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from barnabas.wire.uuids import ZERO_UUID, Uuid

EVICTION_MS: Final = 120_000
MOST_PARTITIONS: Final = 50_000  # of one session
MOST_PARTITIONS_IN_ALL: Final = 250_000  # some 100 MB
PARTITIONS_OF_A_STEP: Final = 256
NO_SESSION: Final = 0
FINAL_EPOCH: Final = -1
INITIAL_EPOCH: Final = 0
_LARGEST: Final = 2**31 - 1

Key = tuple[str | Uuid, int]


class Wanted:
    """One partition that somebody fetches, and what was last told of it."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "told_high_watermark",
        "told_log_start",
        "topic",
        "topic_id",
    )

    def __init__(self, topic: str | None, topic_id: Uuid, data: FetchPartition) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = data.partition
        self.told_high_watermark = -1
        self.told_log_start = -1
        self.update(data)

    def update(self, data: FetchPartition) -> None:
        """Take over what the client wants now."""
        self.fetch_offset = data.fetch_offset
        self.max_bytes = data.partition_max_bytes
        self.current_leader_epoch = data.current_leader_epoch
        self.last_fetched_epoch = data.last_fetched_epoch
        self.log_start_offset = data.log_start_offset

    def is_of_another_topic(self, topic_id: Uuid) -> bool:
        """Whether the topic that bears the name by now is not the one that was asked for.

        One that was asked for by its name is whichever bears it.
        """
        return self.topic_id is not ZERO_UUID and self.topic_id != topic_id

    def must_be_told(self, answer: PartitionData) -> bool:
        """Whether an incremental answer has to carry this partition."""
        return bool(
            answer.error_code
            or (answer.records is not None and len(answer.records))
            or answer.diverging_epoch is not None
            or answer.preferred_read_replica != -1
            or answer.high_watermark != self.told_high_watermark
            or answer.log_start_offset != self.told_log_start
        )

    def tell(self, answer: PartitionData) -> None:
        """Remember what the client will know. An error makes it ask again in full."""
        if answer.error_code:
            self.told_high_watermark = -1
        else:
            self.told_high_watermark = answer.high_watermark
        self.told_log_start = answer.log_start_offset


class Session:
    """The partitions of one client, in the order in which they are served."""

    __slots__ = (
        "by_id",
        "created_ms",
        "epoch",
        "is_follower",
        "last_used_ms",
        "partitions",
        "session_id",
    )

    def __init__(
        self,
        session_id: int,
        is_follower: bool,
        by_id: bool,
        now_ms: float,
        partitions: dict[Key, Wanted],
    ) -> None:
        self.session_id = session_id
        self.is_follower = is_follower
        self.by_id = by_id
        self.epoch = 1
        self.created_ms = self.last_used_ms = now_ms
        self.partitions = partitions

    def rotate(self, served: Iterable[Key]) -> None:
        """Move partitions that got data to the end."""
        for key in served:
            wanted = self.partitions.pop(key, None)
            if wanted is not None:
                self.partitions[key] = wanted


class FetchSessions:
    """The sessions of all clients."""

    def __init__(self, slots: Callable[[], int]) -> None:
        self._slots = slots
        self._sessions: dict[int, Session] = {}  # in order of last use
        self.evicted_count = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """Partitions kept in all sessions."""
        return sum(len(session.partitions) for session in self._sessions.values())

    def partitions_of(self, session_id: int) -> list[tuple[str, int]]:
        """Topic and index of all that a session fetches; nothing for one that is not known."""
        session = self._sessions.get(session_id)
        wanted = session.partitions.values() if session is not None else ()
        return [(each.topic, each.index) for each in wanted if each.topic is not None]

    def begin(
        self,
        request: FetchRequest,
        by_id: bool,
        asked: dict[Key, Wanted],
        name_of: Callable[[Uuid], str | None],
        now_ms: float,
    ) -> tuple[Session | None, dict[Key, Wanted], bool]:
        """The session the answer belongs to, what to fetch, and whether the answer is incremental.

        `asked` is what the request names (`wanted_of`).
        Raises ApiError for a session nobody knows or a wrong epoch.
        """
        if request.session_epoch > INITIAL_EPOCH or request.session_epoch < FINAL_EPOCH:
            session = self._continue(request, by_id, asked, name_of, now_ms)
            if not session.partitions:
                self.close(session.session_id)
                return None, asked, False
            return session, session.partitions, True
        self.close(request.session_id)
        if request.session_epoch == FINAL_EPOCH or not asked:
            return None, asked, False
        is_follower = replica_id_of(request) >= 0
        return self._open(is_follower, by_id, asked, now_ms), asked, False

    def close(self, session_id: int) -> None:
        """Forget a session, if it exists."""
        self._sessions.pop(session_id, None)

    def _continue(
        self,
        request: FetchRequest,
        by_id: bool,
        asked: dict[Key, Wanted],
        name_of: Callable[[Uuid], str | None],
        now_ms: float,
    ) -> Session:
        session = self._require(request.session_id, request.session_epoch, by_id)
        added = 0
        for key in asked:
            if key not in session.partitions:
                added += 1
        if added and not self._may_grow(session, added):
            self.close(session.session_id)  # as if it had been evicted: the client starts anew
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        for key, wanted in asked.items():
            known = session.partitions.get(key)
            if known is None:
                session.partitions[key] = wanted
            else:
                _take_over(known, wanted)
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                session.partitions.pop((topic.topic_id if by_id else topic.topic, index), None)
        if by_id:
            for wanted in session.partitions.values():
                if wanted.topic is None:
                    wanted.topic = name_of(wanted.topic_id)
        session.epoch = 1 if session.epoch == _LARGEST else session.epoch + 1
        session.last_used_ms = now_ms
        del self._sessions[session.session_id]
        self._sessions[session.session_id] = session
        return session

    def _require(self, session_id: int, epoch: int, by_id: bool) -> Session:
        """The session that a request goes on with. Raises ApiError."""
        session = self._sessions.get(session_id)
        if session is None:
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            raise ApiError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.by_id != by_id:
            raise ApiError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session

    def _may_grow(self, session: Session, added: int) -> bool:
        """Whether there is room for so many more partitions, in it and in all together."""
        if len(session.partitions) + added > MOST_PARTITIONS:
            return False
        return self.partition_count + added <= MOST_PARTITIONS_IN_ALL

    def _open(
        self, is_follower: bool, by_id: bool, partitions: dict[Key, Wanted], now_ms: float
    ) -> Session | None:
        if not self._make_room(is_follower, len(partitions), now_ms):
            return None
        session_id = random.randint(1, _LARGEST)
        while session_id in self._sessions:
            session_id = random.randint(1, _LARGEST)
        session = Session(session_id, is_follower, by_id, now_ms, partitions)
        self._sessions[session_id] = session
        return session

    def _make_room(self, is_follower: bool, size: int, now_ms: float) -> bool:
        """Whether there is a free slot, if need be by evicting a session."""
        if size > MOST_PARTITIONS:
            return False
        has_room = self.partition_count + size <= MOST_PARTITIONS_IN_ALL
        if has_room and len(self._sessions) < self._slots():
            return True
        if not self._sessions:
            return False
        victim = next(iter(self._sessions.values()))
        if now_ms - victim.last_used_ms <= EVICTION_MS:
            victim = min(self._sessions.values(), key=lambda s: (s.is_follower, len(s.partitions)))
            outranks = is_follower and not victim.is_follower
            same_rank = is_follower == victim.is_follower
            aged = now_ms - victim.created_ms > EVICTION_MS
            if not outranks and not (same_rank and size > len(victim.partitions) and aged):
                return False
        if not has_room and size > len(victim.partitions):
            return False
        self.close(victim.session_id)
        self.evicted_count += 1
        return True


def wanted_of(
    request: FetchRequest, by_id: bool, name_of: Callable[[Uuid], str | None]
) -> dict[Key, Wanted]:
    """What a request names."""
    found: dict[Key, Wanted] = {}
    for topic in request.topics:
        _add_topic(found, topic, by_id, name_of)
    return found


def wanted_in_steps(
    request: FetchRequest, by_id: bool, name_of: Callable[[Uuid], str | None]
) -> Steps[dict[Key, Wanted]]:
    """The same of a request that names many."""
    found: dict[Key, Wanted] = {}
    for topic in request.topics:
        for at in range(0, len(topic.partitions), PARTITIONS_OF_A_STEP):
            few = topic.partitions[at : at + PARTITIONS_OF_A_STEP]
            part = FetchTopic(topic=topic.topic, topic_id=topic.topic_id, partitions=few)
            _add_topic(found, part, by_id, name_of)
            yield
        yield
    return found


def _add_topic(
    found: dict[Key, Wanted],
    topic: FetchTopic,
    by_id: bool,
    name_of: Callable[[Uuid], str | None],
) -> None:
    name = name_of(topic.topic_id) if by_id else topic.topic
    key = topic.topic_id if by_id else topic.topic
    topic_id = topic.topic_id if by_id else ZERO_UUID
    for data in topic.partitions:
        found[key, data.partition] = Wanted(name, topic_id, data)


def _take_over(known: Wanted, wanted: Wanted) -> None:
    known.fetch_offset = wanted.fetch_offset
    known.max_bytes = wanted.max_bytes
    known.current_leader_epoch = wanted.current_leader_epoch
    known.last_fetched_epoch = wanted.last_fetched_epoch
    if wanted.topic is not None:  # else the name the id had when it was last known stays
        known.topic = wanted.topic
