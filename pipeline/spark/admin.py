"""Questions about a cluster, asked by the connector's own Java AdminClient through py4j.

It has the same options as Spark's source and sink, so that whoever Spark is let in as may ask,
too, and a job needs no second client with names of its own for the same settings. Every question
has an end: a broker that does not answer is a sentence after some seconds, where Spark itself
would try for minutes.
"""

import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from barnabas.pipeline.spark.failures import (
    PipelineError,
    causes_of,
    is_of_spark,
    one_line,
    sentence_of,
)
from barnabas.pipeline.spark.kafka import KafkaCluster, topic_id_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_TIMEOUT_S = 3.0
REQUEST_TIMEOUT_MS = 10_000
API_TIMEOUT_MS = 15_000
CLOSE_TIMEOUT_S = 2
DEFAULT_PORT = 9092
SUGGESTIONS = 5
GONE_AFTER_S = 5.0
"""A broker that has just started does not know all topics yet: one it lacks is asked for again."""
ASK_AGAIN_S = 0.5
UNKNOWN = "UnknownTopicOrPartitionException"
INVALID = "InvalidTopicException"

TopicPartition = tuple[str, int]


class Topic(NamedTuple):
    """A topic as it is now; the id is Kafka's, in url-safe base64, None on clusters before 2.8."""

    name: str
    topic_id: str | None
    partition_count: int

    def partitions(self) -> list[TopicPartition]:
        """Its partitions."""
        return [(self.name, number) for number in range(self.partition_count)]


class OffsetAt(NamedTuple):
    """An offset, and the epoch of the leader that wrote the record before it (or at it)."""

    offset: int
    leader_epoch: int | None


class Admin:
    """An open connection to a cluster; a context manager. Every method may raise PipelineError."""

    def __init__(self, spark: "SparkSession", cluster: KafkaCluster) -> None:
        check_reachable(cluster.bootstrap_servers)
        self._cluster = cluster
        jvm: Any = spark.sparkContext._jvm
        self._clients = jvm.org.apache.kafka.clients.admin
        self._jvm = jvm
        timeouts = {
            "request.timeout.ms": str(REQUEST_TIMEOUT_MS),
            "default.api.timeout.ms": str(API_TIMEOUT_MS),
            "client.id": "barnabas-pipeline",
        }
        properties = timeouts | cluster.client_properties()
        self._admin = self._ask(lambda: self._clients.AdminClient.create(properties))

    def __enter__(self) -> "Admin":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._admin.close(self._jvm.java.time.Duration.ofSeconds(CLOSE_TIMEOUT_S))

    # --- questions -------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """The cluster's id."""
        return str(self._ask(lambda: self._admin.describeCluster().clusterId().get()))

    def topics(
        self, names: Sequence[str] | None = None, *, pattern: str | None = None
    ) -> dict[str, Topic]:
        """The topics of these names, or those that a Java pattern matches whole, by name.

        A name that there is no topic of is an error that suggests others; a pattern that matches
        none is not, since topics may come. Internal topics have to be named. Without names and
        pattern: all that are not internal.
        """
        if names is None:
            names = self._matching(pattern)
        if not names:
            return {}
        try:
            asked = list(dict.fromkeys(names))
            described = self._admin.describeTopics(asked).allTopicNames().get()
        except Exception as error:
            if not is_of_spark(error):
                raise
            raise PipelineError(self._without_topic(asked, error)) from error
        return {name: _topic(name, described[name]) for name in asked}

    def existing(self, names: Iterable[str]) -> dict[str, Topic]:
        """Those of the topics that are there, by name.

        Each is asked for by its name: a listing leaves out what this client may not describe, and
        what may not be seen is not gone. PipelineError for such a one; gone is what the cluster
        says that it does not know, for GONE_AFTER_S.
        """
        deadline = time.monotonic() + GONE_AFTER_S
        wanted = list(dict.fromkeys(names))
        found: dict[str, Topic] = {}
        while True:
            asked = self._described(wanted)
            found |= {name: topic for name, topic in asked.items() if topic is not None}
            wanted = [name for name in wanted if name not in asked]
            if not wanted or time.monotonic() > deadline:
                return found
            time.sleep(ASK_AGAIN_S)

    def matching(self, pattern: str, names: Iterable[str]) -> list[str]:
        """Those of the names that a Java pattern matches whole, on the cluster or not."""
        compiled = self._ask(lambda: self._jvm.java.util.regex.Pattern.compile(pattern))
        return [name for name in names if compiled.matcher(name).matches()]

    def configs(self, topic: str) -> dict[str, str]:
        """The settings in force for a topic, by name; those without a value are left out."""
        resource = self._jvm.org.apache.kafka.common.config.ConfigResource(
            self._jvm.org.apache.kafka.common.config.ConfigResource.Type.TOPIC, topic
        )
        found = self._ask(
            lambda: self._admin.describeConfigs([resource]).values().get(resource).get()
        )
        pairs = (
            (entry.name(), entry.value())
            for entry in self._jvm.java.util.ArrayList(found.entries())
        )
        return {str(name): str(value) for name, value in pairs if value is not None}

    def offsets(
        self,
        partitions: Iterable[TopicPartition],
        *,
        at: Literal["earliest", "latest"] | int = "latest",
        committed: bool = False,
    ) -> dict[TopicPartition, OffsetAt]:
        """The first offset, the end, or the first offset at a time (ms since 1970) or later.

        The end is the high watermark, or with `committed` the last stable offset: where a reader
        of committed records stops. Offset -1: no record is as late as that time.
        """
        made = self._jvm.org.apache.kafka.common.TopicPartition
        asked = {made(topic, number): self._spec(at) for topic, number in partitions}
        if not asked:
            return {}
        levels = self._jvm.org.apache.kafka.common.IsolationLevel
        level = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED
        options = self._clients.ListOffsetsOptions(level)
        found = self._ask(lambda: self._admin.listOffsets(asked, options).all().get())
        return {(str(key.topic()), int(key.partition())): _at(found[key]) for key in found}

    # --- parts -----------------------------------------------------------------------------

    def _described(self, names: Sequence[str]) -> dict[str, Topic | None]:
        """Topics by name, None for what can be none's name; without those that are not known."""
        if not names:
            return {}
        answers = self._ask(lambda: self._admin.describeTopics(list(names)).topicNameValues())
        found: dict[str, Topic | None] = {}
        for name in names:
            try:
                found[name] = _topic(name, answers[name].get())
            except Exception as error:
                if not is_of_spark(error):
                    raise
                kinds = {cause.kind for cause in causes_of(error)}
                if INVALID in kinds:
                    found[name] = None
                elif UNKNOWN not in kinds:
                    raise PipelineError(self._sentence(error)) from error
        return found

    def _matching(self, pattern: str | None) -> list[str]:
        names = self._ask(lambda: sorted(self._admin.listTopics().names().get()))
        return list(names) if pattern is None else self.matching(pattern, names)

    def _without_topic(self, names: list[str], error: Exception) -> str:
        kinds = {cause.kind for cause in causes_of(error)}
        if not kinds & {UNKNOWN, INVALID}:
            return self._sentence(error)
        there = self._matching(None)
        missing = [name for name in names if name not in there]
        return without_topics(missing or names, there, self._cluster.bootstrap_servers)

    def _spec(self, at: Literal["earliest", "latest"] | int) -> Any:
        if at == "earliest":
            return self._clients.OffsetSpec.earliest()
        if at == "latest":
            return self._clients.OffsetSpec.latest()
        return self._clients.OffsetSpec.forTimestamp(at)

    def _ask(self, question: Any) -> Any:
        try:
            return question()
        except Exception as error:
            if not is_of_spark(error):
                raise
            raise PipelineError(self._sentence(error)) from error

    def _sentence(self, error: Exception) -> str:
        for cause in causes_of(error):
            if cause.kind == "PatternSyntaxException":
                return f"the pattern of topics is none of Java's: {one_line(cause.text)}"
            if cause.kind == "ConfigException":
                return f"--kafka-option: {one_line(cause.text)}"
        return f"{self._cluster.bootstrap_servers}: {sentence_of(error)}"


def _topic(name: str, described: Any) -> Topic:
    return Topic(name, topic_id_in(str(described.topicId())), described.partitions().size())


def _at(found: Any) -> OffsetAt:
    epoch = found.leaderEpoch()
    return OffsetAt(int(found.offset()), int(epoch.get()) if epoch.isPresent() else None)


def without_topics(missing: Sequence[str], there: Sequence[str], where: str) -> str:
    """The sentence about topics that are not there, with what may have been meant."""
    from difflib import get_close_matches

    close = [name for word in missing for name in get_close_matches(word, there, n=1)]
    word = "topic" if len(missing) == 1 else "topics"
    if close:
        hint = f" (did you mean {', '.join(dict.fromkeys(close))}?)"
    elif there:
        some = ", ".join(list(there)[:SUGGESTIONS])
        hint = f"; there are {some}{', …' if len(there) > SUGGESTIONS else ''}"
    else:
        hint = "; it has no topics yet"
    return f"there is no {word} {', '.join(missing)} at {where}{hint}"


def check_reachable(bootstrap_servers: str) -> None:
    """PipelineError within seconds, with the reason, when nothing listens at any address."""
    reasons = []
    for host, port in addresses(bootstrap_servers):
        try:
            socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
        except OSError as error:
            reasons.append((error.strerror or str(error)).lower())
        else:
            return
    raise PipelineError(
        f"no broker at {bootstrap_servers}: {', '.join(dict.fromkeys(reasons))}; --bootstrap "
        "names another, `barnabas start` runs one"
    )


def addresses(bootstrap_servers: str) -> list[tuple[str, int]]:
    """The brokers of a bootstrap list; PipelineError for what is no address."""
    found = []
    for part in bootstrap_servers.split(","):
        text = part.strip().rpartition("://")[2]
        host, colon, port = text.rpartition(":")
        if not colon:
            host, port = text, str(DEFAULT_PORT)
        if not host or not port.isdigit() or not 0 < int(port) < 65_536:
            raise PipelineError(f"--bootstrap: {part.strip()!r} is not HOST:PORT")
        found.append((host.strip("[]"), int(port)))
    return found


def by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Offsets as Spark's startingOffsets and endingOffsets have them, before json.dumps."""
    told: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        told.setdefault(topic, {})[str(partition)] = offset
    return told
