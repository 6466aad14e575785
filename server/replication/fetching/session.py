"""What a leader has been told that we want of it: a fetch session from its other side (KIP-227).

    epoch 0   everything that is wanted; the leader answers all, and with an id if it keeps it
    epoch n   what has changed since n - 1: new or other wishes, and what is wanted no more

A session that the leader does not know is begun anew; so is one after an answer that does not fit
what was asked, and after none at all, for then nobody knows what the leader has taken in. A leader
without room for a session (or of a protocol without them) is told everything each time. Otherwise
a session grows by a bounded number of partitions with each request.

Source: Kafka's FetchSessionHandler.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.replication.fetching.followed import Followed
from barnabas.wire.error_codes import ErrorCode, code_numbered
from barnabas.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from barnabas.wire.uuids import ZERO_UUID, Uuid

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
NO_EPOCHS: Final = -1  # of a session that there is not
MOST_TOLD: Final = 500
"""Partitions in one request of a session, told and answered in a few milliseconds."""
_LARGEST: Final = 2**31 - 1


class Wish(NamedTuple):
    """What is asked of one partition. Two that are equal need not be told twice."""

    followed: Followed
    topic_id: Uuid
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int


WishOf = Callable[[TopicPartition], Wish | None]
"""What is wanted of a partition now; None for nothing."""


class Asked(NamedTuple):
    """The part of a Fetch that is the session's."""

    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    by_id: bool
    left: list[TopicPartition]
    """Partitions that are still to be told of, because they are so many."""


class Unusable(Exception):
    """An answer that tells nothing of any partition."""

    def __init__(self, reason: str, code: ErrorCode = ErrorCode.NONE) -> None:
        super().__init__(reason)
        self.code = code


class FetchSession:
    """One connection's. `has_epochs` is False for a protocol without sessions."""

    def __init__(
        self, *, has_epochs: bool, may_use_ids: bool, most_bytes: Callable[[], int]
    ) -> None:
        """`most_bytes` of a partition: `replica.fetch.max.bytes`."""
        self._has_epochs = has_epochs
        self._may_use_ids = may_use_ids
        self._most_bytes = most_bytes
        self._wishes: dict[TopicPartition, Wish] = {}
        self._names: dict[Uuid, str] = {}
        self._without_id: set[TopicPartition] = set()
        self._by_id = may_use_ids
        self._is_kept = has_epochs
        self._id = NO_SESSION
        self._epoch = FIRST_EPOCH

    def restart(self) -> None:
        """Ask for everything next time, in a new session; the leader closes the old one."""
        self._epoch = FIRST_EPOCH

    def ask(
        self,
        changed: Iterable[TopicPartition],
        everything: Iterable[TopicPartition],
        wish_of: WishOf,
    ) -> Asked | None:
        """Ask for what is wanted of the partitions that have `changed`, or of all of them.

        None if nothing is wanted.
        """
        if self._epoch != FIRST_EPOCH:
            asked = self._ask(changed, wish_of)
            if self._by_id == (self._may_use_ids and not self._without_id):
                return asked
        self._wishes.clear()
        self._names.clear()
        self._without_id.clear()
        self._epoch = FIRST_EPOCH
        asked = self._ask(everything, wish_of)
        self._by_id = self._may_use_ids and not self._without_id
        return None if asked is None else asked._replace(by_id=self._by_id)

    def _ask(self, keys: Iterable[TopicPartition], wish_of: WishOf) -> Asked | None:
        topics: dict[tuple[str, Uuid], FetchTopic] = {}
        forgotten: dict[tuple[str, Uuid], ForgottenTopic] = {}
        told, most = 0, MOST_TOLD if self._is_kept else _LARGEST
        left: list[TopicPartition] = []
        for key in keys:
            if told == most:
                left.append(key)
                continue
            old, new = self._wishes.get(key), wish_of(key)
            if old == new:
                continue
            told += 1
            if old is not None and (new is None or (self._by_id and old.topic_id != new.topic_id)):
                self._forget(key, old, forgotten)
            if new is not None:
                self._want(key, new, topics)
        if not self._wishes and not forgotten:
            return None
        session_id, epoch = self._id, self._epoch
        if not self._has_epochs:
            session_id, epoch = NO_SESSION, NO_EPOCHS
        return Asked(
            session_id, epoch, list(topics.values()), list(forgotten.values()), self._by_id, left
        )

    def _want(
        self, key: TopicPartition, wish: Wish, topics: dict[tuple[str, Uuid], FetchTopic]
    ) -> None:
        name, index = key
        self._wishes[key] = wish
        if wish.topic_id == ZERO_UUID:
            self._without_id.add(key)
        else:
            self._names[wish.topic_id] = name
        topic = topics.get((name, wish.topic_id))
        if topic is None:
            topic = topics[name, wish.topic_id] = FetchTopic(topic=name, topic_id=wish.topic_id)
        topic.partitions.append(
            FetchPartition(
                partition=index,
                current_leader_epoch=wish.followed.leader_epoch,
                fetch_offset=wish.fetch_offset,
                last_fetched_epoch=wish.last_fetched_epoch,
                log_start_offset=wish.log_start_offset,
                partition_max_bytes=self._most_bytes(),
            )
        )

    def _forget(
        self, key: TopicPartition, wish: Wish, forgotten: dict[tuple[str, Uuid], ForgottenTopic]
    ) -> None:
        name, index = key
        del self._wishes[key]
        self._without_id.discard(key)
        topic = forgotten.get((name, wish.topic_id))
        if topic is None:
            topic = ForgottenTopic(topic=name, topic_id=wish.topic_id)
            forgotten[name, wish.topic_id] = topic
        topic.partitions.append(index)

    def take(self, response: FetchResponse) -> Iterator[tuple[Wish, PartitionData]]:
        """What the leader answers to what was asked last. Raises Unusable."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION
            self.restart()
            raise Unusable("the session has ended", code_numbered(response.error_code))
        answers = [
            (self._wish_answered(topic, data), data)
            for topic in response.responses
            for data in topic.partitions
        ]
        if self._epoch == FIRST_EPOCH and len(answers) != len(self._wishes):
            raise self._unfit(f"{len(answers)} partitions where {len(self._wishes)} were wanted")
        self._id = response.session_id
        self._is_kept = self._has_epochs and self._id != NO_SESSION
        if not self._is_kept:
            self.restart()
        else:
            self._epoch = 1 if self._epoch == _LARGEST else self._epoch + 1
        return iter(answers)

    def _wish_answered(self, topic: FetchableTopicResponse, data: PartitionData) -> Wish:
        name = self._names.get(topic.topic_id, "") if self._by_id else topic.topic
        wish = self._wishes.get((name, data.partition_index))
        if wish is None or (self._by_id and wish.topic_id != topic.topic_id):
            raise self._unfit(f"partition {data.partition_index} of {name!r} was not wanted")
        return wish

    def _unfit(self, reason: str) -> Unusable:
        self.restart()
        self._id = NO_SESSION
        return Unusable(reason)
