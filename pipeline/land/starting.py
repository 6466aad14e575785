"""The start of a landing: what a kill left is put right, what forbids going on is said."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from barnabas.pipeline.lake.folders import Folder
from barnabas.pipeline.lake.log import read_state
from barnabas.pipeline.land.claims import Claims
from barnabas.pipeline.land.commit import has_landed, recover
from barnabas.pipeline.land.marker import (
    MARKER,
    Marker,
    Selection,
    new_marker,
    read_marker,
    write_marker,
)
from barnabas.pipeline.land.resuming import (
    OnCluster,
    Verdict,
    has_late_starts,
    is_behind,
    landed_so_far,
    listed,
    own_topics,
    verdict,
    with_spark,
)
from barnabas.pipeline.land.spark_checkpoint import (
    TopicPartition,
    batch_ranges,
    last_committed,
    offsets_done,
    offsets_planned,
)
from barnabas.pipeline.spark.admin import Admin, by_topic
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from barnabas.pipeline.land.landing_options import Accepted, LandingOptions


@dataclass(frozen=True)
class Start:
    """Where a landing goes on."""

    marker: Marker
    topics: tuple[str, ...]
    topic_ids: Mapping[str, str | None]
    starting_offsets: str  # Spark's option; of no effect once the generation has begun
    notes: tuple[str, ...] = ()


def start_landing(admin: Admin, lake: Folder, checkpoint: Folder, options: LandingOptions) -> Start:
    """Look at the checkpoint, the lake and the cluster; PipelineError says what forbids it."""
    cluster_id = admin.cluster_id()
    cluster = _on_cluster(admin, options.selection)
    marker, taken_from = _own_marker(lake, checkpoint, cluster_id, cluster, options)
    for landing_id in (marker.landing_id, *taken_from):
        recover(lake, landing_id)
    generation = checkpoint.below(marker.spark_checkpoint)
    _check_lake(lake, generation, marker)
    state = read_state(lake)
    done, planned = offsets_done(generation), offsets_planned(generation)
    own = own_topics(cluster, marker.topic_ids, done, planned)
    wanted = _wanted(admin, options.selection, own)
    started_with = {topic: id_ for topic, id_ in marker.topic_ids.items() if topic in wanted}
    done_of_wanted = {place: offset for place, offset in done.items() if place[0] in wanted}
    landed = landed_so_far(state.landings, cluster_id, cluster.topic_ids, wanted)
    landed = with_spark(landed, started_with, done_of_wanted, cluster.topic_ids)
    found = verdict(landed, cluster)
    notes = _refuse_or_note(found, options.accepted)
    begins_anew = (
        bool(notes)
        or marker.selection != options.selection
        or has_late_starts(cluster, done)
        or is_behind(landed, planned)
    )
    if begins_anew and generation.names():
        last = state.last_batches.get(marker.landing_id, -1)
        marker = marker.next_generation(options.selection, max(marker.first_batch, last + 1))
    write_marker(checkpoint, replace(marker, topic_ids=cluster.topic_ids))
    topics = tuple(sorted(cluster.topic_ids))
    offsets = _starting_offsets(found.starts)
    return Start(marker, topics, cluster.topic_ids, offsets, tuple(notes))


def _wanted(admin: Admin, selection: Selection, own: Collection[str]) -> Collection[str]:
    """Which of a landing's topics still land: what it is told to land may have changed."""
    if selection.pattern is None:
        return selection.topics
    return admin.matching(selection.pattern, sorted(own))


def _own_marker(
    lake: Folder, checkpoint: Folder, cluster_id: str, cluster: OnCluster, options: LandingOptions
) -> tuple[Marker, set[str]]:
    """Whose checkpoint it is, or now becomes, and whom topics were taken from to be its own."""
    marker = read_marker(checkpoint)
    is_new = marker is None
    if marker is None:
        marker = new_marker(cluster_id, options.selection)
        write_marker(checkpoint, marker)
    _check_cluster(marker, cluster_id, checkpoint)
    try:
        claims = Claims(lake, cluster_id, marker.landing_id, checkpoint.uri)
        taken_from = claims.claim(sorted(cluster.topic_ids), take_over=options.accepted.take_over)
    except PipelineError:
        if is_new:
            checkpoint.delete(MARKER)
        raise
    return marker, taken_from


def _starting_offsets(starts: Mapping[TopicPartition, int]) -> str:
    # Spark wants all partitions or none; without one that has landed new ones may still come.
    if all(offset < 0 for offset in starts.values()):
        return "earliest"
    return json.dumps(by_topic(starts))


def _check_cluster(marker: Marker, cluster_id: str, checkpoint: Folder) -> None:
    if marker.cluster_id != cluster_id:
        raise PipelineError(
            f"{checkpoint.uri} is a checkpoint of the cluster {marker.cluster_id}, and "
            f"--bootstrap leads to {cluster_id}: --checkpoint names a new folder to land this "
            "cluster, beside what is in the lake"
        )


def _check_lake(lake: Folder, generation: Folder, marker: Marker) -> None:
    last = last_committed(generation)
    number = marker.first_batch + last
    if last < 0 or has_landed(lake, marker.landing_id, number):
        return
    if batch_ranges(generation, last):
        raise PipelineError(
            f"{lake.uri} does not have batch {number} of the landing {marker.landing_id}, which "
            "the checkpoint says has landed: --lake names the lake of this checkpoint, or "
            "--checkpoint a new folder"
        )


def _on_cluster(admin: Admin, selection: Selection) -> OnCluster:
    topics = (
        admin.topics(selection.topics)
        if selection.pattern is None
        else admin.topics(pattern=selection.pattern)
    )
    places = [place for topic in topics.values() for place in topic.partitions()]
    starts = admin.offsets(places, at="earliest")
    ends = admin.offsets(places)
    return OnCluster(
        {name: topic.topic_id for name, topic in topics.items()},
        {place: at.offset for place, at in starts.items()},
        {place: at.offset for place, at in ends.items()},
    )


def _refuse_or_note(found: Verdict, accepted: Accepted) -> list[str]:
    notes = []
    if found.lost:
        told = f"records were lost since they could have landed: {listed(found.lost)}"
        if not accepted.loss:
            raise PipelineError(f"{told}; --accept-loss lands what is there")
        notes.append(told)
    if found.made_again:
        told = listed(found.made_again)
        if not accepted.made_again:
            raise PipelineError(
                f"{told}: --accept-made-again lands the new topic from its start, beside the "
                "rows of the old one"
            )
        notes.append(told)
    return notes
