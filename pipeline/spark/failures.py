"""What can go wrong between a job, Spark and the cluster, each as one sentence.

A job raises PipelineError for what it finds itself. What Spark, py4j or Kafka's Java client
raise becomes one through `sentence_of`: the causes of an exception are looked at as pairs of
class and message, so that the rules need no JVM.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import click

OLDEST_JAVA = 17
GO_ON = "the source's option failOnDataLoss=false goes on without them"


class PipelineError(click.ClickException):
    """A job could not do what it was asked; the message is the whole sentence."""

    exit_code = 1


class Cause(NamedTuple):
    """One exception of a chain: its class without the package, and what it says."""

    kind: str
    text: str


def causes_of(error: BaseException) -> list[Cause]:
    """The chain of an exception, Java's part included, outermost first."""
    found: list[Cause] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        java = getattr(current, "java_exception", None) or getattr(current, "_origin", None)
        found.append(Cause(type(current).__name__, _python_text(current, java)))
        if java is not None:
            found += _java_causes(java)
        current = current.__cause__ or current.__context__
    return found


def _python_text(error: BaseException, java: Any) -> str:
    if hasattr(error, "java_exception"):  # its str() asks the JVM for the whole stack trace
        return ""
    return str(getattr(error, "_desc", None) or getattr(error, "desc", None) or error)


def _java_causes(throwable: Any) -> list[Cause]:
    found = []
    for _ in range(20):
        if throwable is None:
            break
        kind = str(throwable.getClass().getName()).rsplit(".", 1)[-1].rsplit("$", 1)[-1]
        found.append(Cause(kind, str(throwable.getMessage() or "")))
        throwable = throwable.getCause()
    return found


def sentence_of(error: BaseException) -> str:
    """One sentence for whatever Spark, py4j or Kafka's client raised."""
    if isinstance(error, PipelineError):
        return error.message
    return sentence_of_causes(causes_of(error))


def sentence_of_causes(causes: list[Cause]) -> str:
    """One sentence for a chain of causes; what no rule knows is told by its innermost cause."""
    for rule in RULES:
        for cause in causes:
            if sentence := rule(cause):
                return sentence
    told = [cause for cause in causes if cause.text.strip()]
    innermost = told[-1] if told else causes[-1]
    return f"{innermost.kind}: {one_line(innermost.text)}" if told else innermost.kind


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what Spark and py4j raise into PipelineError; Python's own errors pass unchanged."""
    try:
        yield
    except click.ClickException:
        raise
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise PipelineError(sentence_of(error)) from error


def is_of_spark(error: BaseException) -> bool:
    """Whether Spark, py4j or Java raised it, or a socket of py4j's whose JVM has ended."""
    if isinstance(error, ConnectionError) and error.__context__ is not None:
        return is_of_spark(error.__context__)
    return any(
        kind.__module__.partition(".")[0] in ("pyspark", "py4j") for kind in type(error).__mro__
    )


def by_accept_loss(sentence: str) -> str:
    """The same of a job that has --accept-loss in the place of the source's option."""
    return sentence.replace(GO_ON, "--accept-loss goes on without them")


def one_line(text: str, limit: int = 400) -> str:
    """The first sentence or so of a message of Spark's, on one line."""
    text = re.sub(r"\s*SQLSTATE: \w+", "", text.split("\n\tat ")[0].split("\nJVM stacktrace")[0])
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= limit else text[:limit].rstrip() + "…"


# --- the rules: Cause -> sentence, or nothing ----------------------------------------------


def _unreachable(cause: Cause) -> str | None:
    if cause.kind == "ConfigException" and "No resolvable bootstrap" in cause.text:
        return f"no broker's name can be looked up: {one_line(cause.text)}; --bootstrap names them"
    if cause.kind in ("TimeoutException", "DisconnectException", "BrokerNotAvailableException"):
        return (
            f"the brokers do not answer: {one_line(cause.text)}; --bootstrap names them, and "
            "--kafka-option how they are spoken to (kafka.security.protocol)"
        )
    return None


def _not_let_in(cause: Cause) -> str | None:
    if cause.kind.endswith(("AuthenticationException", "SslHandshakeException")):
        return (
            f"the brokers do not let this client in: {one_line(cause.text)}; "
            "--kafka-option kafka.sasl.… and kafka.ssl.… say who it is"
        )
    if cause.kind.endswith("AuthorizationException"):
        return f"this client may not do that: {one_line(cause.text)}"
    return None


def _topic_missing(cause: Cause) -> str | None:
    if cause.kind == "UnknownTopicOrPartitionException":
        return "there is no such topic on the cluster; `barnabas topics list` shows what there is"
    return None


def _connector_missing(cause: Cause) -> str | None:
    if re.search(r"(find data source|data source): ?`?kafka", cause.text, re.IGNORECASE):
        return (
            "this Spark session has no Kafka connector: make it with spark_session(), or start "
            "Spark with --packages org.apache.spark:spark-sql-kafka-0-10_2.13"
        )
    return None


def _range_lost(cause: Cause) -> str | None:
    found = re.search(
        r"Could not read records in offset \[(\d+), (\d+)\) for topic partition (\S+)", cause.text
    )
    if found is None:
        return None
    # Spark names the range that it asked for; which part of it has gone, the log's start says.
    return (
        f"records of {found[3]} were deleted before they were read, some or all of the offsets "
        f"{found[1]} to {int(found[2]) - 1}; {GO_ON}"
    )


def _start_lost(cause: Cause) -> str | None:
    found = re.search(
        r"Starting offset for (\S+) was (\d+) but consumer reset to (\d+)", cause.text
    ) or re.search(r"Added partition (\S+) starts from ()(\d+) instead of 0", cause.text)
    return _lost(found[1], int(found[2] or 0), int(found[3])) if found else None


def _lost(partition: str, start: int, end: int) -> str:
    told = f"records of {partition} were deleted before they were read"
    return f"{told}: {end - start} offsets, {start} to {end - 1}; {GO_ON}"


def _made_again(cause: Cause) -> str | None:
    found = re.search(r"Partition (\S+) offset was changed from (\d+) to (\d+)", cause.text)
    if found is None:
        return None
    return (
        f"{found[1]} ends at offset {found[3]}, before offset {found[2]} where reading was to go "
        f"on: the topic was deleted and made again, or its end was lost; {GO_ON}"
    )


def _partitions_lost(cause: Cause) -> str | None:
    found = re.search(r"[Pp]artitions (\S.*?)(?: have been deleted|\. They may have)", cause.text)
    if found is None or "KAFKA_DATA_LOSS" not in cause.text:
        return None
    return f"what was being read is not there any more: {found[1]}; {GO_ON}"


def _begins_later(cause: Cause) -> str | None:
    if cause.kind != "OffsetOutOfRangeException":
        return None
    return f"records were deleted before they were read: {one_line(cause.text)}; {GO_ON}"


def _of_our_own(cause: Cause) -> str | None:
    """What our code raised in a Python process of Spark's: the last line of a traceback."""
    found = re.search(r"^barnabas\.pipeline\.[\w.]+: (.+)$", cause.text, re.MULTILINE)
    return found[1] if found else None


def _memory(cause: Cause) -> str | None:
    if cause.kind == "OutOfMemoryError" or "java.lang.OutOfMemoryError" in cause.text:
        return "Spark ran out of memory: --spark-setting spark.driver.memory=4g gives it more"
    return None


_MUTE: Final = re.compile(r".* does not exist in the JVM|An error occurred while calling [\w.:]+")


def _java_gone(cause: Cause) -> str | None:
    # PySpark asks the JVM what kind of error it was, and is told by py4j that it has no such class;
    # or it has more to ask, and no answer is an error that says nothing but what was asked.
    is_mute = cause.kind == "Py4JError" and _MUTE.fullmatch(cause.text)
    if cause.kind != "Py4JNetworkError" and not is_mute:
        return None
    return "Spark's JVM has ended in the middle of it (killed, or out of memory); run it again"


RULES: tuple[Callable[[Cause], str | None], ...] = (
    _of_our_own,
    _memory,
    _java_gone,
    _not_let_in,
    _topic_missing,
    _connector_missing,
    _range_lost,
    _start_lost,
    _made_again,
    _partitions_lost,
    _begins_later,
    _unreachable,
)
