"""Which committed offsets have outlived their use (KIP-211); decisions only.

`offsets.retention.minutes` counts

* for a group whose members are gone: from the moment it became Empty (records too old to say
  when: from each commit);
* for a group with consumers: from each commit, and only for topics that nobody in the group
  subscribes to;
* for a group that never had members: from each commit.

An offset committed with a retention of its own (OffsetCommit v2-v4) expires by that instead.
"""

from barnabas.server.groups.group import CONSUMER, Group
from barnabas.server.groups.offsets import CommittedOffset, TopicPartition
from barnabas.server.groups.states import GroupState


def expired_offsets(group: Group, now_ms: int, retention_ms: int) -> list[TopicPartition]:
    """The offsets of a group that have expired."""
    if group.protocol_type is not None:
        if group.state is GroupState.EMPTY:
            return _expired(group, now_ms, retention_ms, group.state_timestamp_ms)
        if group.state is not GroupState.STABLE or group.protocol_type != CONSUMER:
            return []
    return _expired(group, now_ms, retention_ms, None)


def is_forgettable(group: Group) -> bool:
    """Whether nothing would be lost with the group."""
    return group.state is GroupState.EMPTY and group.offsets.is_empty and not group.members.pending


def _expired(
    group: Group, now_ms: int, retention_ms: int, since_ms: int | None
) -> list[TopicPartition]:
    has_members = bool(group.members.by_id)
    return [
        (topic, partition)
        for topic, partition, committed in group.offsets
        if _is_over(committed, now_ms, retention_ms, since_ms)
        and not group.offsets.is_unwritten(topic, partition)
        and not (has_members and group.is_subscribed_to(topic))
    ]


def _is_over(
    committed: CommittedOffset, now_ms: int, retention_ms: int, since_ms: int | None
) -> bool:
    if committed.expire_timestamp_ms is not None:
        return now_ms >= committed.expire_timestamp_ms
    start_ms = committed.commit_timestamp_ms if since_ms is None else since_ms
    return now_ms - start_ms >= retention_ms
