"""One sentence for what Spark, py4j and Kafka's client raise."""

import pytest

from barnabas.pipeline.spark.failures import (
    Cause,
    PipelineError,
    causes_of,
    one_line,
    sentence_of,
    sentence_of_causes,
    sentences,
)
from barnabas.pipeline.spark.session import why_java_ended


def test_what_a_job_found_itself_is_said_as_it_is() -> None:
    assert sentence_of(PipelineError("there is no lake at x")) == "there is no lake at x"


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        ("TimeoutException", "Timed out waiting for a node assignment.", "--bootstrap names them"),
        ("SaslAuthenticationException", "Authentication failed", "kafka.sasl"),
        ("TopicAuthorizationException", "Not authorized: [a]", "may not do that"),
        ("UnknownTopicOrPartitionException", "", "no such topic"),
        ("AnalysisException", "Failed to find data source: kafka.", "no Kafka connector"),
        ("Py4JNetworkError", "Error while sending", "JVM has ended"),
        ("Py4JError", "An error occurred while calling o40.setCallSite", "JVM has ended"),
        ("Py4JError", "org.apache.x.Y does not exist in the JVM", "JVM has ended"),
    ],
)
def test_a_cause_names_what_to_change(kind: str, text: str, told: str) -> None:
    causes = [Cause("StreamingQueryException", "[STREAM_FAILED] …"), Cause(kind, text)]
    assert told in sentence_of_causes(causes)


def test_what_no_rule_knows_is_told_by_its_innermost_cause() -> None:
    causes = [Cause("SparkException", "Job aborted"), Cause("IOException", "disk full\n\tat a.b")]
    assert sentence_of_causes(causes) == "IOException: disk full"


def test_what_our_code_raised_on_an_executor_is_said_in_its_words() -> None:
    trace = "Traceback (most recent call last):\n  File ...\n    raise LostRecords(name)\n"
    said = f"{trace}barnabas.pipeline.log_source.errors.LostRecords: t-0: offsets 0 to 5 are gone\n"
    causes = [Cause("SparkException", f"Job aborted\n{said}"), Cause("PythonException", said)]
    assert sentence_of_causes(causes) == "t-0: offsets 0 to 5 are gone"


def test_a_chain_is_followed_through_python() -> None:
    with pytest.raises(ValueError) as raised:
        try:
            raise KeyError("inner")
        except KeyError as error:
            raise ValueError("outer") from error
    assert [cause.kind for cause in causes_of(raised.value)] == ["ValueError", "KeyError"]


def test_only_what_spark_raised_becomes_a_sentence() -> None:
    with pytest.raises(ZeroDivisionError), sentences():
        raise ZeroDivisionError


def test_a_message_of_sparks_is_one_line_without_its_stack() -> None:
    assert one_line("[A] broken\n  badly. SQLSTATE: 42K01\n\tat org.apache.x") == "[A] broken badly"


def test_a_jvm_that_ends_early_is_explained_by_what_it_printed() -> None:
    unresolved = ":: resolving\nunresolved dependency: org.apache.spark#spark-sql-kafka"
    assert "--jars" in why_java_ended(unresolved)
    assert "Could not reserve" in why_java_ended("\nError: Could not reserve enough space\nmore")
    assert "nothing" in why_java_ended("")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Could not read records in offset [2, 10) for topic partition a-0\nwith consumer group",
            "of a-0 were deleted before they were read, some or all of the offsets 2 to 9; ",
        ),
        (
            "Starting offset for a-0 was 5 but consumer reset to 8.",
            "records of a-0 were deleted before they were read: 3 offsets, 5 to 7; ",
        ),
        (
            "Added partition a-1 starts from 4 instead of 0.",
            "records of a-1 were deleted before they were read: 4 offsets, 0 to 3; ",
        ),
        (
            "Partition a-0 offset was changed from 10 to 3.",
            "a-0 ends at offset 3, before offset 10 where reading was to go on: ",
        ),
        ("Partitions Set(a-0, a-1) have been deleted.", "not there any more: Set(a-0, a-1); "),
        ("Cannot find initial offsets for partitions Set(a-0). They may have", ": Set(a-0); "),
    ],
)
def test_data_lost_between_runs_is_told_with_what_and_how_much(text: str, told: str) -> None:
    preface = "[KAFKA_DATA_LOSS.X] Some data may have been lost because they are not available\n"
    sentence = sentence_of_causes([Cause("SparkException", preface + text)])
    assert told in sentence and "failOnDataLoss=false" in sentence
