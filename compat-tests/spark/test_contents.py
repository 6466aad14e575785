"""What the rows of Spark's Kafka source hold: every kind of record, byte for byte."""

from __future__ import annotations

import time

import pytest
from spark_link import Spark
from spark_topics import LOG_APPEND_TIME, Record, Topics, numbered

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EVERY_BYTE = bytes(range(256))


def test_keys_and_values_may_be_null_or_empty_or_any_bytes(spark: Spark, topics: Topics) -> None:
    kinds = (None, b"", EVERY_BYTE)
    topic = topics.make("kinds")
    rows = topics.send(topic, [Record(value, key) for value in kinds for key in kinds])
    assert spark.read(topic).rows == rows


def test_headers_keep_order_duplicates_nulls_and_names_of_any_letters(
    spark: Spark, topics: Topics
) -> None:
    topic = topics.make("headers")
    headers = (("b", b"1"), ("a", None), ("b", b""), ("é日本", EVERY_BYTE), ("b", b"1"), ("", b"x"))
    records = [
        Record(b"some", headers=headers),
        Record(b"none"),
        Record(b"one", None, headers[1:2]),
    ]
    rows = topics.send(topic, records)
    assert spark.read(topic).rows == rows


def test_headers_are_left_out_unless_asked_for(spark: Spark, topics: Topics) -> None:
    topic = topics.make("without-headers")
    (row,) = topics.send(topic, [Record(b"v", b"k", (("h", b"1"),))])
    assert spark.read(topic, includeHeaders="false").rows == [row._replace(headers=())]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(spark: Spark, topics: Topics, codec: str) -> None:
    topic = topics.make(f"codec-{codec}")
    records = [each._replace(headers=(("n", each.value),)) for each in numbered(300)]
    rows = topics.send(topic, records, compression_type=codec, linger_ms=5)
    assert spark.read(topic).rows == rows
    assert spark.read(topic, startingOffsets={topic: {"0": 123}}).rows == rows[123:]


def test_the_topics_own_codec(spark: Spark, topics: Topics) -> None:
    """The broker has compressed them again."""
    topic = topics.make("recompressed", 1, {"compression.type": "zstd"})
    rows = topics.send(topic, numbered(300), compression_type="gzip", linger_ms=5)
    assert spark.read(topic).rows == rows


def test_the_broker_stamps_what_it_appends_where_the_topic_says_so(
    spark: Spark, topics: Topics
) -> None:
    topic = topics.make("log-append-time", 1, {"message.timestamp.type": "LogAppendTime"})
    before_ms = time.time_ns() // 1_000_000
    sent = topics.send(topic, numbered(5), compression_type="lz4", linger_ms=5)
    after_ms = time.time_ns() // 1_000_000
    found = spark.read(topic).rows
    assert all(before_ms <= row.timestamp_ms <= after_ms for row in found)
    assert len({row.timestamp_ms for row in found}) == 1
    assert [row._replace(timestamp_ms=0) for row in found] == [
        row._replace(timestamp_type=LOG_APPEND_TIME, timestamp_ms=0) for row in sent
    ]
