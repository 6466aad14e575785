"""The options of a read, named and spelled as those of Spark's Kafka source where it has them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.pipeline.log_source.errors import LogSourceError
from barnabas.storage.directory_names import TopicPartition

EARLIEST: Final = -2
LATEST: Final = -1
DEFAULT_PARTITION_BYTES: Final = 64 << 20

INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""Read only where they are named."""

_CHOICES: Final = ("subscribe", "subscribePattern", "assign")
_KAFKA_ONLY: Final = frozenset(
    name.lower()
    for name in (
        "fetchOffset.numRetries", "fetchOffset.retryIntervalMs", "groupIdPrefix",
        "kafkaConsumer.pollTimeoutMs", "maxRecordsPerPartition", "useDeprecatedOffsetFetching",
    )
)  # fmt: skip
"""Options of the Kafka source that have no meaning without a broker."""

Offsets = dict[TopicPartition, int]


@dataclass(frozen=True)
class Bound:
    """One end of what is read: an offset or a time in ms, for all partitions or for each.

    Offsets may be EARLIEST and LATEST. `option` names where it was said.
    """

    option: str
    everywhere: int
    by_partition: Offsets | None = None
    is_time: bool = False

    def of(self, topic_partition: TopicPartition) -> int:
        """What is said of one partition."""
        if self.by_partition is None:
            return self.everywhere
        return self.by_partition[topic_partition]


@dataclass(frozen=True)
class ReadOptions:
    """What to read, and how."""

    paths: tuple[str, ...]
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] | None = None
    start: Bound = field(default_factory=lambda: Bound("startingOffsets", EARLIEST))
    end: Bound = field(default_factory=lambda: Bound("endingOffsets", LATEST))
    unmatched_time_is_latest: bool = False
    is_committed_only: bool = False
    with_headers: bool = False
    with_control: bool = False
    with_lineage: bool = False
    fail_on_data_loss: bool = True
    to_high_watermark: bool = False
    partition_bytes: int = DEFAULT_PARTITION_BYTES
    min_partitions: int = 0

    def wants(self, topic_partition: TopicPartition) -> bool:
        """Whether a partition is among those asked for."""
        topic = topic_partition.topic
        if self.assigned is not None:
            return topic_partition in self.assigned
        if self.topics is not None:
            return topic in self.topics
        if topic in INTERNAL_TOPICS:
            return False
        return self.pattern is None or re.fullmatch(self.pattern, topic) is not None


def parse_options(given: Mapping[str, str]) -> ReadOptions:
    """The options as Spark hands them over, of any case; LogSourceError names what is wrong."""
    options = _Options(given)
    topics, pattern, assigned = options.take_choice()
    read = ReadOptions(
        paths=options.take_paths(),
        topics=topics,
        pattern=pattern,
        assigned=assigned,
        start=options.take_bound("starting", EARLIEST, LATEST),
        end=options.take_bound("ending", LATEST, EARLIEST),
        unmatched_time_is_latest=options.take_word(
            "startingOffsetsByTimestampStrategy", "error", "latest"
        ),
        is_committed_only=options.take_word(
            "kafka.isolation.level", "read_uncommitted", "read_committed"
        ),
        with_headers=options.take_word("includeHeaders", "false", "true"),
        with_control=options.take_word("includeControl", "false", "true"),
        with_lineage=options.take_word("includeLineage", "false", "true"),
        fail_on_data_loss=not options.take_word("failOnDataLoss", "true", "false"),
        to_high_watermark=options.take_word("highWatermark", "none", "checkpoint"),
        partition_bytes=options.take_count("maxPartitionBytes", DEFAULT_PARTITION_BYTES),
        min_partitions=options.take_count("minPartitions", 0),
    )
    options.refuse_the_rest()
    return read


class _Options:
    """Options that are taken one by one."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._left = {name.lower(): (name, value) for name, value in given.items()}

    def take(self, name: str) -> str | None:
        found = self._left.pop(name.lower(), None)
        return None if found is None else found[1]

    def take_word(self, name: str, default: str, other: str) -> bool:
        """Whether the option has its other value."""
        value = (self.take(name) or default).strip().lower()
        if value not in (default, other):
            raise LogSourceError(f"option {name} is {value!r}: it may be {default} or {other}")
        return value == other

    def take_count(self, name: str, default: int) -> int:
        value = self.take(name)
        if value is None:
            return default
        if not value.strip().isdecimal() or int(value) == 0:
            raise LogSourceError(f"option {name} is {value!r}: it is a whole number from 1 on")
        return int(value)

    def take_paths(self) -> tuple[str, ...]:
        """`load("/a")`, `load(["/a", "/b"])`, and several in one as `log.dirs` has them."""
        several = self.take("paths")
        paths = json.loads(several) if several else []
        path = self.take("path")
        if path:
            paths += [part.strip() for part in path.split(",")]
        cleaned = tuple(dict.fromkeys(each.removeprefix("file://") for each in paths if each))
        if not cleaned:
            raise LogSourceError(
                "no data directory is named: barnabas-log reads load('/var/lib/kafka')"
            )
        return cleaned

    def take_choice(
        self,
    ) -> tuple[tuple[str, ...] | None, str | None, tuple[TopicPartition, ...] | None]:
        """Topics, pattern, partitions: at most one of them is there."""
        given = {name: value for name in _CHOICES if (value := self.take(name)) is not None}
        if len(given) > 1:
            raise LogSourceError(f"only one of the options {' and '.join(given)} may be set")
        topics = pattern = assigned = None
        if "subscribe" in given:
            topics = tuple(name for part in given["subscribe"].split(",") if (name := part.strip()))
        if "subscribePattern" in given:
            pattern = _checked_pattern(given["subscribePattern"])
        if "assign" in given:
            assigned = tuple(_assigned(given["assign"]))
        if topics == () or assigned == ():
            raise LogSourceError(f"option {next(iter(given))} names no topic")
        return topics, pattern, assigned

    def take_bound(self, side: str, everywhere: int, refused: int) -> Bound:
        """`startingTimestamp` before `startingOffsetsByTimestamp` before `startingOffsets`."""
        time_option, times_option = f"{side}Timestamp", f"{side}OffsetsByTimestamp"
        option = f"{side}Offsets"
        time, times, offsets = self.take(time_option), self.take(times_option), self.take(option)
        if time is not None:
            if not time.strip().isdecimal():
                raise LogSourceError(f"option {time_option} is {time!r}: it is a time in ms")
            return Bound(time_option, int(time), is_time=True)
        if times is not None:
            found = dict(_by_partition(times_option, times))
            return Bound(times_option, everywhere, found, is_time=True)
        word = (offsets or "").strip().lower()
        if word in ("", "earliest" if everywhere == EARLIEST else "latest"):
            return Bound(option, everywhere)
        if word in ("earliest", "latest"):
            raise LogSourceError(f"option {option} cannot be {word}: that would read nothing")
        found = dict(_by_partition(option, word if offsets is None else offsets))
        for topic_partition, offset in found.items():
            if offset == refused or offset < EARLIEST:
                raise LogSourceError(f"option {option} has {offset} for {topic_partition}")
        return Bound(option, everywhere, found)

    def refuse_the_rest(self) -> None:
        """A misspelt option would read something else than what was asked for."""
        for name, (given, _) in self._left.items():
            if name not in _KAFKA_ONLY and not name.startswith("kafka."):
                raise LogSourceError(f"barnabas-log has no option {given}")


def _checked_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise LogSourceError(f"option subscribePattern is no pattern: {error}") from None
    return pattern


def _json_object(option: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise LogSourceError(f"option {option} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise LogSourceError(f"option {option} is no JSON object")
    return value


def _assigned(text: str) -> Iterator[TopicPartition]:
    """{"orders": [0, 1]}"""
    for topic, partitions in _json_object("assign", text).items():
        if not isinstance(partitions, list) or not all(type(each) is int for each in partitions):
            raise LogSourceError(f"option assign has no list of partitions for topic {topic}")
        for partition in partitions:
            yield TopicPartition(topic, partition)


def _by_partition(option: str, text: str) -> Iterator[tuple[TopicPartition, int]]:
    """{"orders": {"0": 23, "1": -2}}"""
    for topic, partitions in _json_object(option, text).items():
        if not isinstance(partitions, dict):
            raise LogSourceError(f"option {option} has no partitions for topic {topic}")
        for partition, value in partitions.items():
            if not partition.isdecimal() or type(value) is not int:
                raise LogSourceError(f"option {option} has {partition!r}: {value!r} for {topic}")
            yield TopicPartition(topic, int(partition)), value
