"""Names of the directories that hold one partition each.

    <topic>-<partition>                          in use
    <topic>-<partition>.<32 hex digits>-delete   deleted, files still to be removed
    <topic>-<partition>.<32 hex digits>-future   being copied from another data directory
    <topic>-<partition>.<32 hex digits>-stray    found, but this broker is not a replica

A name has at most 255 bytes: -delete and -stray cut the topic, which nobody needs again.
Source: Kafka's LocalLog (KAFKA-4893, KIP-113, KAFKA-15931).
"""

import re
from os import urandom
from typing import NamedTuple

DELETED = "-delete"
FUTURE = "-future"
STRAY = "-stray"
_MAX_NAME_BYTES = 255
_NAME = re.compile(r"(.*\S)-([0-9]+)(?:\.([0-9a-f]{32})(-delete|-future|-stray))?")


class TopicPartition(NamedTuple):
    """A partition of a topic; prints as its directory's name."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionDirectory(NamedTuple):
    """What a directory's name says; `suffix` is empty for one in use."""

    topic_partition: TopicPartition
    suffix: str


def parse_name(name: str) -> PartitionDirectory | None:
    """What a directory of this name holds; None if it is no partition's."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    topic, partition, _, suffix = match.groups()
    return PartitionDirectory(TopicPartition(topic, int(partition)), suffix or "")


def name_with_suffix(topic_partition: TopicPartition, suffix: str) -> str:
    """A new, unique name for a directory that is set aside."""
    rest = f"-{topic_partition.partition}.{urandom(16).hex()}{suffix}"
    topic = topic_partition.topic
    return (topic if suffix == FUTURE else topic[: _MAX_NAME_BYTES - len(rest)]) + rest
