"""The offsets that a group committed, and those that may still be committed.

    committed      what OffsetFetch answers
    unwritten      commits whose record is not on all in-sync replicas yet
    transactional  by producer id: written, but their transaction is open (KIP-98)

A commit takes effect only if its record stands behind the one that is known, so that a
transaction which ends late never puts an older offset over a newer one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from barnabas.server.cluster.metadata import TopicInfo
from barnabas.server.core.topic_names import TopicPartition
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import ZERO_UUID, Uuid

NO_LEADER_EPOCH = -1


@dataclass(slots=True)
class CommittedOffset:
    """One offset as it was committed; `log_offset` is that of its record's batch.

    `expire_timestamp_ms` is set by clients that say how long to keep it (OffsetCommit v2-v4).
    """

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp_ms: int = -1
    expire_timestamp_ms: int | None = None
    topic_id: Uuid = ZERO_UUID
    log_offset: int = -1


Commits = dict[TopicPartition, CommittedOffset]


def commit_refusal(topic: TopicInfo | None, index: int, text: str | None, limit: int) -> ErrorCode:
    """Why one offset cannot be stored, or NONE; `limit` is `offset.metadata.max.bytes`.

    It is compared with the length of a Java string: UTF-16 units, not bytes.
    """
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if text is not None and _utf16_length(text) > limit:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    return ErrorCode.NONE


def take_out_deleted(
    commits: Commits, topics: Mapping[str, TopicInfo], *, by_id: bool
) -> dict[TopicPartition, ErrorCode]:
    """Take out the offsets of topics that were deleted since these were put together.

    Which, and what to answer who has named the topics by name or `by_id`. Groups forget a topic's
    offsets as it goes; what is written after that would stay, and be told to who reads the next
    topic of the name.
    """
    gone = [
        key
        for key, committed in commits.items()
        if (known := topics.get(key[0])) is None or known.topic_id != committed.topic_id
    ]
    for key in gone:
        del commits[key]
    code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return dict.fromkeys(gone, code)


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(each > "\uffff" for each in text)


class Offsets:
    """A group's offsets, by topic and partition."""

    __slots__ = ("_unwritten", "by_topic", "transactional")

    def __init__(self) -> None:
        self.by_topic: dict[str, dict[int, CommittedOffset]] = {}
        self.transactional: dict[int, Commits] = {}
        self._unwritten: Counter[TopicPartition] = Counter()

    def __iter__(self) -> Iterator[tuple[str, int, CommittedOffset]]:
        for topic, partitions in self.by_topic.items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    def __len__(self) -> int:
        return sum(len(partitions) for partitions in self.by_topic.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing is committed nor about to be."""
        return not (self.by_topic or self._unwritten or any(self.transactional.values()))

    def get(self, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset of a partition."""
        partitions = self.by_topic.get(topic)
        return None if partitions is None else partitions.get(partition)

    def put(self, topic: str, partition: int, committed: CommittedOffset) -> None:
        """A commit has taken effect, unless a newer one is known."""
        partitions = self.by_topic.setdefault(topic, {})
        known = partitions.get(partition)
        if known is None or known.log_offset <= committed.log_offset:
            partitions[partition] = committed

    def remove(self, topic: str, partition: int) -> bool:
        """Forget a partition's offset, pending ones too; whether the log may hold one."""
        key = (topic, partition)
        found = self._unwritten.pop(key, None) is not None
        for commits in self.transactional.values():
            found = commits.pop(key, None) is not None or found
        partitions = self.by_topic.get(topic)
        if partitions is not None and partitions.pop(partition, None) is not None:
            found = True
            if not partitions:
                del self.by_topic[topic]
        return found

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic that anything is known of."""
        found = {(topic, partition) for partition in self.by_topic.get(topic, ())}
        found.update(key for key in self._unwritten if key[0] == topic)
        for commits in self.transactional.values():
            found.update(key for key in commits if key[0] == topic)
        return sorted(found)

    def all_partitions(self) -> list[TopicPartition]:
        """The partitions that anything is known of, commits on their way included."""
        found = {(topic, partition) for topic, partition, _ in self}
        found.update(self._unwritten)
        for commits in self.transactional.values():
            found.update(commits)
        return sorted(found)

    # Commits on their way.

    def begin_write(self, keys: Iterable[TopicPartition]) -> None:
        """Records of these commits are being written."""
        self._unwritten.update(iter(keys))

    def end_write(self, commits: Commits) -> Commits:
        """They are written, or have failed; those of them that were not removed meanwhile."""
        kept = {key: each for key, each in commits.items() if key in self._unwritten}
        for key in kept:
            if self._unwritten[key] <= 1:
                del self._unwritten[key]
            else:
                self._unwritten[key] -= 1
        return kept

    def is_unstable(self, topic: str, partition: int) -> bool:
        """Whether the offset may be replaced by a write or transaction in progress (KIP-447)."""
        key = (topic, partition)
        return key in self._unwritten or any(key in each for each in self.transactional.values())

    # Transactions.

    def add_transactional(self, producer_id: int, commits: Commits) -> None:
        """Commits that take effect if the producer's transaction commits."""
        self.transactional.setdefault(producer_id, {}).update(commits)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """The producer's transaction has ended: its commits take effect or are forgotten."""
        commits = self.transactional.pop(producer_id, {})
        if is_commit:
            for (topic, partition), committed in commits.items():
                self.put(topic, partition, committed)
