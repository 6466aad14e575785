"""What Spark's Kafka sink writes, and the sentences in which it fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_admin import unique_name
from spark_brokers import AGAINST
from spark_link import Batch, Headers, Sent, Spark, SparkFailure
from spark_topics import Record, Topics, numbered

WHOLE = ("key", "value", "headers", "partition")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HEADERS: Headers = (("b", b"1"), ("a", None), ("b", b""), ("b", bytes(range(256))))
IMPATIENT = {"kafka.max.block.ms": 4_000}


def written(batch: Batch) -> list[tuple[bytes | None, bytes | None, Headers, int]]:
    """What a topic holds, in its order."""
    return [(row.key, row.value, row.headers, row.partition) for row in batch.rows]


def test_key_value_headers_and_partition_are_kept(spark: Spark, topics: Topics) -> None:
    topic = topics.make("written", 3)
    kinds = (None, b"", bytes(range(256)))
    sent = [Sent(k, v, HEADERS, p) for p in (2, 0) for k in kinds for v in kinds]
    sent.append(Sent(b"k", b"v", (), 1))
    spark.write(sent, WHOLE, topic=topic)
    by_partition = sorted(sent, key=lambda each: each.partition or 0)
    assert written(spark.read(topic)) == [each[:4] for each in by_partition]


def test_a_value_is_enough_and_text_is_utf_8(spark: Spark, topics: Topics) -> None:
    topic = topics.make("values")
    spark.write([Sent()] * 3, ("'é日本' AS value",), topic=topic)
    assert spark.read(topic).values == ["é日本".encode()] * 3


def test_each_row_may_name_its_topic_unless_the_option_names_one(
    spark: Spark, topics: Topics
) -> None:
    first, second, third = (topics.make("named") for _ in range(3))
    sent = [Sent(None, b"1", topic=first), Sent(None, b"2", topic=second)]
    spark.write(sent, ("value", "topic"))
    spark.write(sent, ("value", "topic"), topic=third)
    found = [spark.read(topic).values for topic in (first, second, third)]
    assert found == [[b"1"], [b"2"], [b"1", b"2"]]


def test_keys_come_to_the_partition_where_the_java_client_has_them(
    spark: Spark, topics: Topics
) -> None:
    ours, theirs = topics.make("by-key", 7), topics.make("by-key", 7)
    keys = [b"key %d" % number for number in range(100)]
    spark.write([Sent(key, b"v") for key in keys], ("key", "value"), topic=ours)
    topics.send(
        theirs, [Record(b"v", key, partition=-1) for key in keys], partitioner="murmur2_random"
    )
    assert written(spark.read(ours)) == written(spark.read(theirs))


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(spark: Spark, topics: Topics, codec: str) -> None:
    topic = topics.make(f"sink-{codec}")
    sent = [Sent(b"k", b"%d" % number * 20, HEADERS, 0) for number in range(200)]
    spark.write(sent, WHOLE, topic=topic, kafka_compression_type=codec)
    assert written(spark.read(topic)) == [each[:4] for each in sent]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(spark: Spark, topics: Topics, acks: str) -> None:
    topic = topics.make("acks")
    options = {"kafka.acks": acks, "kafka.enable.idempotence": "false"}
    spark.write([Sent(None, b"%d" % n) for n in range(50)], ("value",), topic=topic, **options)
    assert spark.read(topic).values == [b"%d" % n for n in range(50)]


def test_a_stream_writes_each_record_once_over_restarts(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    source, rows = topics.filled("forwarded", 20, partitions=2)
    target = topics.make("target", 2)
    sink = {"topic": target, "checkpointLocation": str(checkpoint)}
    for start in (20, 25, 30):
        spark.forward(source, WHOLE, sink, {"availableNow": True}, maxOffsetsPerTrigger=7)
        found = [row._replace(topic=source, timestamp_ms=0) for row in spark.read(target).rows]
        assert found == [row._replace(timestamp_ms=0) for row in rows]
        rows = sorted(rows + topics.send(source, numbered(5, start)), key=lambda row: row[1:3])


def test_an_unknown_topic(spark: Spark) -> None:
    name = unique_name("missing")
    with pytest.raises(SparkFailure) as failure:
        spark.write([Sent(None, b"v")], ("value",), topic=name, **IMPATIENT)
    assert f"Topic {name} not present in metadata after 4000 ms." in failure.value.text


def test_a_partition_that_is_not_there(spark: Spark, topics: Topics) -> None:
    topic = topics.make("one-partition")
    with pytest.raises(SparkFailure) as failure:
        spark.write([Sent(None, b"v", (), 7)], WHOLE, topic=topic, **IMPATIENT)
    sentence = f"Partition 7 of topic {topic} with partition count 1 is not present in metadata"
    assert sentence in failure.value.text


def test_a_record_that_is_too_large_for_the_topic(spark: Spark, topics: Topics) -> None:
    """Those before it are written."""
    topic = topics.make("small", 1, {"max.message.bytes": "1000"})
    sent = [Sent(None, b"fits"), Sent(None, b"x" * 2_000)]
    with pytest.raises(SparkFailure) as failure:
        spark.write(sent, ("value",), topic=topic, kafka_batch_size=1)
    assert "RecordTooLargeException: " in failure.value.text
    if not AGAINST:  # Apache Kafka says neither which topic nor which limit
        assert f"{topic}-0: batch of 2070 bytes is above max.message.bytes" in failure.value.text
    assert spark.read(topic).values == [b"fits"]


def test_a_compacted_topic_takes_no_record_without_a_key(spark: Spark, topics: Topics) -> None:
    topic = topics.make("compacted-sink", 1, {"cleanup.policy": "compact"})
    spark.write([Sent(b"k", b"v")], ("key", "value"), topic=topic)
    with pytest.raises(SparkFailure) as failure:
        spark.write([Sent(None, b"v")], ("key", "value"), topic=topic)
    assert "InvalidRecordException: " in failure.value.text
    assert spark.read(topic).values == [b"v"]
