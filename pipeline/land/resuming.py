"""Where a landing goes on, and when it refuses to: what has landed against what the cluster has.

Pure: the offsets and ids come from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.pipeline.lake.entries import LandedTopic
from barnabas.pipeline.land.spark_checkpoint import TopicPartition

EARLIEST = -2  # in Spark's startingOffsets
SHOWN = 3


@dataclass(frozen=True)
class OnCluster:
    """What a cluster has of the chosen topics: ids, and the log start and end of partitions."""

    topic_ids: Mapping[str, str | None]
    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Landed:
    """Where the lake ends, for the present topic ids and for those of topics made again."""

    topic_ids: Mapping[str, str | None]  # the id of the last batch with the topic
    ends: Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Verdict:
    """What stands in the way of going on, as ends of sentences; and where to begin."""

    lost: tuple[str, ...] = ()
    made_again: tuple[str, ...] = ()
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)


def own_topics(
    cluster: OnCluster, started_with: Collection[str], *streams: Collection[TopicPartition]
) -> set[str]:
    """The topics of a landing: those it is to land now, last started with, or found on its way.

    `streams` is what Spark knows of, where a pattern's new topics are that came after the start.
    What else is in the lake belongs to other landings: that it is gone, or ahead, is theirs.
    """
    of_streams = {topic for stream in streams for topic, _ in stream}
    return {*cluster.topic_ids, *started_with, *of_streams}


def landed_so_far(
    landings: Sequence[LandedTopic],
    cluster_id: str,
    topic_ids: Mapping[str, str | None],
    wanted: Collection[str],
) -> Landed:
    """Where the wanted topics of a cluster end in the lake, whichever landing brought them.

    Of a topic that has landed under several ids, the present one counts.
    """
    ids: dict[str, str | None] = {}
    ends: dict[TopicPartition, int] = {}
    for landing in landings:
        topic = landing.topic
        if landing.cluster_id != cluster_id or topic not in wanted:
            continue
        if topic in ids and ids[topic] != landing.topic_id:
            if ids[topic] == topic_ids.get(topic):
                continue
            ends = {place: end for place, end in ends.items() if place[0] != topic}
        ids[topic] = landing.topic_id
        for partition, ranges in landing.offsets.items():
            if ranges:
                place = (topic, partition)
                ends[place] = max(ends.get(place, 0), ranges[-1][1])
    return Landed(ids, ends)


def with_spark(
    landed: Landed,
    started_with: Mapping[str, str | None],
    done: Mapping[TopicPartition, int],
    present: Mapping[str, str | None],
) -> Landed:
    """What Spark takes for done counts as well: it knows partitions of which nothing has landed.

    Offset 0 of an empty partition counts like any other: Spark insists on going on there, and
    fails for ever where the log has begun later since.
    `started_with` are the topic ids that the landing last started with: of a topic that it has
    begun to land anew nothing that landed before counts. A topic that Spark has found later has
    the id under which it landed, or if nothing has landed its `present` one.
    """
    found = {topic: landed.topic_ids.get(topic, present.get(topic)) for topic, _ in done}
    known = {**found, **started_with}
    anew = {topic for topic, id_ in known.items() if landed.topic_ids.get(topic, id_) != id_}
    ends = {place: end for place, end in landed.ends.items() if place[0] not in anew}
    for place, offset in done.items():
        if offset >= 0:
            ends[place] = max(offset, ends.get(place, 0))
    return Landed({**landed.topic_ids, **known}, ends)


def is_behind(landed: Landed, planned: Mapping[TopicPartition, int]) -> bool:
    """Whether the lake has more than a stream has planned: another landing brought it."""
    return any(end > planned.get(place, 0) for place, end in landed.ends.items())


def has_late_starts(cluster: OnCluster, done: Mapping[TopicPartition, int]) -> bool:
    """Whether a partition is new to a stream and does not begin with 0, as Spark insists on."""
    return bool(done) and any(
        start > 0 and place not in done for place, start in cluster.starts.items()
    )


def verdict(landed: Landed, cluster: OnCluster) -> Verdict:
    """What has happened to the topics since they landed, and where each partition goes on.

    One that landed and is not there any more is lost, too.
    """
    lost, again = [], []
    starts: dict[TopicPartition, int] = {}
    for topic in sorted(landed.topic_ids):
        if topic not in cluster.topic_ids:
            lost.append(f"topic {topic} is not there any more")
        elif cluster.topic_ids[topic] != landed.topic_ids[topic]:
            count = sum(end for place, end in landed.ends.items() if place[0] == topic)
            again.append(
                f"{topic} was made again (its id was {landed.topic_ids[topic]} when offsets up "
                f"to {count} in all had landed, and is {cluster.topic_ids[topic]} now)"
            )
    for place, start in sorted(cluster.starts.items()):
        is_same = landed.topic_ids.get(place[0]) == cluster.topic_ids[place[0]]
        end = landed.ends.get(place) if is_same else None
        starts[place] = EARLIEST if end is None else end
        if end is None:
            continue
        name = f"{place[0]}-{place[1]}"
        if start > end:
            lost.append(f"{name}: offsets {end} to {start - 1} ({start - end:,}) were deleted")
            starts[place] = EARLIEST
        elif cluster.ends[place] < end:
            there = cluster.ends[place]
            lost.append(f"{name} ends at {there}, and all below {end} has landed")
            starts[place] = there
    return Verdict(tuple(lost), tuple(again), starts)


def listed(items: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    shown = "; ".join(items[:SHOWN])
    more = len(items) - SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown
