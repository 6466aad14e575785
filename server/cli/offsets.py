"""Partitions as people name them, and their offsets."""

import contextlib
import time
from collections.abc import Sequence
from enum import Enum
from typing import Final

from barnabas.server.cli.connection import Cluster, check_topic_name, unreachable
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.whole_numbers import whole_number


class Spec(Enum):
    """An end of a partition, by Kafka's numbers: kept apart from times, which may be negative."""

    EARLIEST = -2
    LATEST = -1


EARLIEST: Final = Spec.EARLIEST
LATEST: Final = Spec.LATEST
LEADERS_S, PAUSE_S = 15.0, 0.25  # a session of a broker that was killed, and an election
UNTOLD_S = 3.0
BY_NAME = 12  # the last version of Fetch that names topics
Place = tuple[str, int]
At = Spec | int


def offsets_of(
    cluster: Cluster, places: list[Place], at: At, *, committed: bool = False
) -> dict[Place, int]:
    """For each partition the first offset at or after a time in ms, or EARLIEST, or LATEST.

    A partition with nothing at or after the time has its end offset. For readers of `committed`
    records that is the last stable offset: they get nothing behind it while a transaction is open.
    No record is from before 1970: an earlier time is 1970, as Kafka takes a negative one for a
    Spec.
    """
    if not places:
        return {}
    partition = kafka().TopicPartition
    messages = kafka("protocol.consumer")
    wanted: object = messages.OffsetSpec(at.value) if isinstance(at, Spec) else max(at, 0)
    found = cluster.admin.list_partition_offsets(
        {partition(*place): wanted for place in places}, messages.IsolationLevel(int(committed))
    )
    offsets = {(where.topic, where.partition): each.offset for where, each in found.items()}
    beyond = [place for place, offset in offsets.items() if offset < 0]
    if beyond:
        offsets.update(offsets_of(cluster, beyond, LATEST, committed=committed))
    return offsets


def offsets_once_led(
    cluster: Cluster, places: list[Place], at: At, *, committed: bool = False
) -> dict[Place, int]:
    """The same, waiting a while for leaders in the place of those that are not there.

    A leader that is new, and has too few replicas in sync, does not tell the end of its log: what
    may be read ends at the high watermark then, which a fetch tells.
    """
    begun = time.monotonic()
    while True:
        try:
            return offsets_of(cluster, places, at, committed=committed)
        except unreachable() as error:
            waited_s = time.monotonic() - begun
            is_untold = isinstance(error, kafka("errors").OffsetNotAvailableError)
            if is_untold and at is LATEST and waited_s > UNTOLD_S:
                return high_watermarks(cluster, places, committed=committed)
            if waited_s > LEADERS_S:
                raise
            time.sleep(PAUSE_S)


def high_watermarks(
    cluster: Cluster, places: list[Place], *, committed: bool = False
) -> dict[Place, int]:
    """How far each partition may be read, by its leader; its committed records, if those alone."""
    messages = kafka("protocol.consumer")
    starts = offsets_of(cluster, places, EARLIEST)
    topics = cluster.topics(sorted({name for name, _ in places}))
    leaders = {(name, each["partition_index"]): each["leader_id"]
               for name, topic in topics.items() for each in topic["partitions"]}  # fmt: skip
    found: dict[Place, int] = {}
    for place in places:
        wanted = messages.FetchRequest.FetchTopic
        request = messages.FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1, isolation_level=int(committed),
            session_id=0, session_epoch=-1, forgotten_topics_data=[], rack_id="",
            topics=[wanted(topic=place[0], partitions=[wanted.FetchPartition(
                partition=place[1], fetch_offset=starts[place], partition_max_bytes=1)])],
            max_version=BY_NAME,
        )  # fmt: skip
        answer = cluster.send(request, leaders[place]).responses[0].partitions[0]
        if answer.error_code:
            raise kafka("errors").for_code(answer.error_code)(f"{place[0]}:{place[1]}")
        found[place] = answer.last_stable_offset if committed else answer.high_watermark
    return found


def offsets_to_be_had(cluster: Cluster, places: list[Place], at: At) -> dict[Place, int]:
    """The same, without the partitions whose leader is not there."""
    try:
        return offsets_of(cluster, places, at)
    except unreachable():
        found: dict[Place, int] = {}
        for place in places:
            with contextlib.suppress(*unreachable()):
                found |= offsets_of(cluster, [place], at)
        return found


def named_places(cluster: Cluster, texts: tuple[str, ...]) -> list[Place]:
    """The partitions that TOPIC or TOPIC:0,1 name. Failure or BadInput where there is none."""
    places: list[Place] = []
    for text in texts:
        name, numbers = parsed_place(text)
        places += places_of(cluster, name, numbers or (), "--topic")
    return places


def places_of(cluster: Cluster, topic: str, wanted: Sequence[int], option: str) -> list[Place]:
    """The wanted partitions of a topic, all where none is; BadInput for one that it has not."""
    known = sorted(p["partition_index"] for p in cluster.topic(topic)["partitions"])
    for number in wanted:
        if number not in known:
            raise BadInput(f"{option}: {topic} has no partition {number}, only 0 to {known[-1]}")
    return [(topic, number) for number in wanted or known]


def parsed_place(text: str) -> tuple[str, list[int] | None]:
    """A topic, and the partitions that are named behind a colon; None for all of them."""
    name, colon, numbers = text.partition(":")
    check_topic_name(name)
    if not colon:
        return name, None
    found = [whole_number(part) for part in numbers.split(",")]
    if None in found:
        raise BadInput(f"--topic: {text!r} is not TOPIC or TOPIC:PARTITION,…, as in orders:0,1")
    return name, [number for number in found if number is not None]
