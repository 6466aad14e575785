"""`barnabas pipeline land` over the broker: what is in the lake is what was produced, once."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from broker_admin import BrokerAdmin, unique_name
from confluent_kafka import Producer
from own_broker import OwnBroker
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType
from raw_producer import RawProducer, batch_of

from barnabas.pipeline.land.csv_values import CsvFormat
from barnabas.pipeline.land.json_values import JsonFormat
from barnabas.pipeline.land.landing_options import Accepted
from barnabas.pipeline.land.parsing import Parsing
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

from .landings import DAY_MS, FLUSH_TIMEOUT_S, KEPT, Landings, send

END_OF_9999_MS = 253_402_300_799_999


@pytest.fixture
def landings(spark: SparkSession, cluster: KafkaCluster, tmp_path: Path) -> Landings:
    return Landings(spark, cluster, tmp_path)


def test_all_of_a_record_is_kept(landings: Landings, broker_admin: BrokerAdmin) -> None:
    topic = broker_admin.create_topic("a.b_c-1", 2, KEPT)
    records: list[dict[str, Any]] = [
        {"value": b"v", "key": b"k", "timestamp": DAY_MS},
        {
            "value": None,
            "key": b"",
            "timestamp": END_OF_9999_MS,
            "headers": [("h", b"1"), ("h", None)],
        },
        {"value": b"", "key": None, "timestamp": 1, "headers": [("", b"\xff")]},
        {"value": b"\x00" * 900_000, "key": b"\xff\xfe", "timestamp": DAY_MS},
    ]
    producer = Producer({"bootstrap.servers": landings.cluster.bootstrap_servers})
    for record in records:
        producer.produce(topic, partition=1, **record)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
    (batch,) = landings.land(topic)
    assert (batch.rows, batch.dead_letters) == (4, 0)
    rows = landings.rows()
    (landed,) = landings.lake.landings()
    assert landed.offsets == {1: ((0, 4),)}
    for offset, (row, record) in enumerate(zip(rows, records, strict=True)):
        assert (row.topic, row.partition, row.offset) == (topic, 1, offset)
        assert (row.key, row.value) == (record["key"], record["value"])
        assert row.timestamp_type == 0
        headers = [(each.key, each.value) for each in row.headers or []]
        assert headers == record.get("headers", [])
        assert (row.topic_id, row.schema_id, row.reason) == (landed.topic_id, None, None)
        assert row.leader_epoch is not None and row.leader_epoch >= 0
    stamps = landings.lake.rows().orderBy("offset").selectExpr("unix_millis(timestamp)").collect()
    assert [row[0] for row in stamps] == [record["timestamp"] for record in records]
    assert [row.date for row in rows[:3]] == [
        datetime.date(2026, 3, 1),
        datetime.date(9999, 12, 31),
        datetime.date(1970, 1, 1),
    ]
    assert landings.plain_places() == landings.places()


def test_times_land_that_python_does_not_know_and_one_that_spark_does_not_is_a_sentence(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("times", 1, KEPT)
    producer = RawProducer(landings.cluster.bootstrap_servers)
    stamps = [-2, -(10**12), END_OF_9999_MS + 1, 9_223_372_036_854_775]
    for stamp in stamps:
        producer.append(topic, 1, batch_of([3], stamp))
    landings.land(topic)
    columns = ("unix_millis(timestamp)", "string(date)")
    rows = landings.lake.rows().orderBy("offset").selectExpr(*columns).collect()
    assert [row[0] for row in rows] == stamps
    assert [row[1] for row in rows] == ["1969-12-31", "1938-04-24", "+10000-01-01", "+294247-01-10"]
    producer.append(topic, 1, batch_of([3], 2**63 - 1))
    with pytest.raises(PipelineError, match="which Spark's source cannot hold: nothing of the"):
        landings.land(topic)
    assert len(landings.plain_places()) == len(stamps)


def test_a_batch_of_aborted_records_alone_counts_as_read(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("aborted", 1, KEPT)
    abort(landings.cluster.bootstrap_servers, topic)
    (batch,) = landings.land(topic)
    assert (batch.rows, landings.land(topic), landings.lake.files()) == (0, [], ())
    assert landings.lake.landings()[0].offsets == {0: ((0, 2),)}


def test_new_records_partitions_and_topics_are_picked_up_and_nothing_twice(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    address = landings.cluster.bootstrap_servers
    base = unique_name("many")
    one, two = f"{base}.one", f"{base}_two"
    broker_admin.create_topic_named(one, 1, KEPT)
    send(address, one, [b"1", b"2"])
    pattern = f"{base}.*"
    assert [batch.rows for batch in landings.land(pattern=pattern)] == [2]
    assert landings.land(pattern=pattern) == []
    broker_admin.add_partitions(one, 2)
    broker_admin.create_topic_named(two, 1, KEPT)
    send(address, one, [b"3"])
    send(address, one, [b"4"], 1)
    send(address, two, [b"5"])
    assert sum(batch.rows for batch in landings.land(pattern=pattern)) == 3
    expected = [(one, 0, 0), (one, 0, 1), (one, 0, 2), (one, 1, 0), (two, 0, 0)]
    assert landings.places() == landings.plain_places() == expected
    assert landings.lake.strangers() == landings.lake.missing() == ()


def test_small_batches_land_one_after_the_other(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("batches", 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"v"] * 25)
    batches = landings.land(topic, records_per_batch=10)
    assert [(batch.batch, batch.rows) for batch in batches] == [(0, 10), (1, 10), (2, 5)]
    assert landings.places() == landings.plain_places() == [(topic, 0, at) for at in range(25)]


def test_what_cannot_be_parsed_is_a_dead_letter_with_its_reason(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("json", 1, KEPT)
    values = [
        b'{"id":1,"n":{"b":2}}',
        b"",
        None,
        b'{"id":"x"}',
        b"\xff",
        b'{"id":2,"n":{"c":1},"new":0}',
    ]
    send(landings.cluster.bootstrap_servers, topic, values)
    columns = StructType.fromDDL("id BIGINT, n STRUCT<b: INT>")
    (batch,) = landings.land(topic, parsing=Parsing(JsonFormat(columns)))
    assert (batch.rows, batch.dead_letters) == (6, 3)
    assert batch.unknown == {(topic, "n.c"): 1, (topic, "new"): 1}
    assert [row.value for row in landings.rows()] == values
    assert [row.reason for row in landings.rows()] == [
        None,
        "the value is empty",
        None,
        "field id is no bigint",
        "the value is not UTF-8",
        None,
    ]
    parsed = (
        landings.lake.parsed(topic).orderBy("offset").select("offset", "parsed.id", "parsed.n.b")
    )
    assert [tuple(row) for row in parsed.collect()] == [(0, 1, 2), (2, None, None), (5, 2, None)]


def test_a_registry_s_schema_id_is_kept(landings: Landings, broker_admin: BrokerAdmin) -> None:
    topic = broker_admin.create_topic("registry", 1, KEPT)
    values = [b'\0\0\0\1\2{"id":1}', b"\0\0\0\0\7x", b'{"id":1}', b"\0\xff\xff\xff\xff{}"]
    send(landings.cluster.bootstrap_servers, topic, values)
    parsing = Parsing(JsonFormat(StructType.fromDDL("id BIGINT")), registry_format=True)
    landings.land(topic, parsing=parsing)
    rows = landings.rows()
    assert [row.schema_id for row in rows] == [258, 7, None, -1]
    assert [row.reason is None for row in rows] == [True, False, False, True]
    assert [row.value for row in rows] == values


def test_csv_lands_by_its_columns(landings: Landings, broker_admin: BrokerAdmin) -> None:
    topic = broker_admin.create_topic("csv", 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"1;a,b", b"x;y", b"1", b"1;2;3", b";"])
    parsing = Parsing(CsvFormat(StructType.fromDDL("id INT, name STRING"), (("sep", ";"),)))
    landings.land(topic, parsing=parsing)
    assert [row.reason for row in landings.rows()] == [
        None,
        "column id is no int",
        "the value does not have 2 columns as the schema does",
        "the value does not have 2 columns as the schema does",
        None,
    ]
    rows = landings.lake.parsed(topic).orderBy("offset").select("parsed.*").collect()
    assert [tuple(row) for row in rows] == [(1, "a,b"), (None, None)]


def test_aborted_records_do_not_land(landings: Landings, broker_admin: BrokerAdmin) -> None:
    topic = broker_admin.create_topic("transactions", 1, KEPT)
    producer = Producer(
        {
            "bootstrap.servers": landings.cluster.bootstrap_servers,
            "transactional.id": unique_name("t"),
        }
    )
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number, timestamp=DAY_MS)
        producer.flush()
        producer.commit_transaction() if number % 2 == 0 else producer.abort_transaction()
    landings.land(topic)
    assert [(row.offset, row.value) for row in landings.rows()] == [(0, b"0"), (4, b"2")]
    assert landings.lake.landings()[0].offsets == {0: ((0, 8),)}


def test_a_topic_lands_by_one_landing_until_another_takes_over(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("twice", 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"1", b"2"])
    landings.land(topic)
    with pytest.raises(PipelineError, match=r"lands in this lake already.*checkpoint.*--take-over"):
        landings.land(topic, checkpoint="other")
    send(landings.cluster.bootstrap_servers, topic, [b"3"])
    (batch,) = landings.land(topic, checkpoint="other", accepted=Accepted(take_over=True))
    assert batch.rows == 1
    with pytest.raises(PipelineError, match=r"lands in this lake already"):
        landings.land(topic)
    send(landings.cluster.bootstrap_servers, topic, [b"4"])
    (batch,) = landings.land(topic, accepted=Accepted(take_over=True))
    assert batch.rows == 1
    assert landings.places() == landings.plain_places() == [(topic, 0, at) for at in range(4)]


def test_a_topic_made_again_lands_beside_its_rows_when_that_is_accepted(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("again", 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"1", b"2", b"3"])
    landings.land(topic)
    delete_topic(landings, topic)
    broker_admin.create_topic_named(topic, 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"new", b"newer"])
    with pytest.raises(PipelineError, match=f"{topic} was made again.*--accept-made-again"):
        landings.land(topic)
    landings.land(topic, accepted=Accepted(made_again=True))
    send(landings.cluster.bootstrap_servers, topic, [b"newest"])
    landings.land(topic)
    found = [(row.value, row.offset) for row in landings.rows()]
    assert sorted(found) == [
        (b"1", 0),
        (b"2", 1),
        (b"3", 2),
        (b"new", 0),
        (b"newer", 1),
        (b"newest", 2),
    ]
    assert len({row.topic_id for row in landings.rows()}) == 2
    ranges = sorted(str(each.offsets) for each in landings.lake.landings())
    assert ranges == ["{0: ((0, 3),)}", "{0: ((0, 3),)}"]


def test_lost_records_are_said_with_their_number(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("lost", 2, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"v"] * 10)
    landings.land(topic)
    send(landings.cluster.bootstrap_servers, topic, [b"v"] * 1_500)
    delete_records(landings, topic, 1_400)
    with pytest.raises(
        PipelineError, match=f"{topic}-0: offsets 10 to 1399 .1,390. were deleted.*--accept-loss"
    ):
        landings.land(topic)
    landings.land(topic, accepted=Accepted(loss=True))
    assert landings.land(topic) == []
    offsets = [offset for _, _, offset in landings.places()]
    assert offsets == [*range(10), *range(1_400, 1_510)]
    assert any("1,390" in note for note in landings.notes)


def test_an_empty_partition_that_loses_its_first_records_does_not_stop_its_landing_for_good(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("empty", 2, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"v"] * 3, 1)
    landings.land(topic)
    send(landings.cluster.bootstrap_servers, topic, [b"v"] * 10)
    delete_records(landings, topic, 5)
    with pytest.raises(PipelineError, match=f"{topic}-0: offsets 0 to 4 .5. were deleted"):
        landings.land(topic)
    landings.land(topic, accepted=Accepted(loss=True))
    assert landings.land(topic) == []
    assert [place[1:] for place in landings.places()] == [
        *((0, offset) for offset in range(5, 10)),
        *((1, offset) for offset in range(3)),
    ]


def test_landings_of_one_lake_go_on_beside_one_another(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    address = landings.cluster.bootstrap_servers
    by_name = broker_admin.create_topic("by.name", 1, KEPT)
    by_pattern = unique_name("web").ljust(249, "x")
    broker_admin.create_topic_named(by_pattern, 1, KEPT)
    for _ in range(2):
        for topic in (by_name, by_pattern):
            send(address, topic, [b"v"])
        landings.land(by_name, checkpoint="names")
        landings.land(pattern=f"{by_pattern[:20]}.*", checkpoint="pattern")
    assert sorted(landings.places()) == sorted(
        (topic, 0, offset) for topic in (by_name, by_pattern) for offset in range(2)
    )
    for checkpoint in ("names", "pattern"):
        names = sorted(path.name for path in (landings.folder / checkpoint).iterdir())
        assert names == ["landing.json", "spark-00000"]
    delete_topic(landings, by_name)
    assert landings.land(pattern=f"{by_pattern[:20]}.*", checkpoint="pattern") == []
    with pytest.raises(PipelineError, match="lands in this lake already"):
        landings.land(pattern=f"{by_pattern[:20]}.*", checkpoint="a third")


def test_a_checkpoint_is_of_one_cluster_and_of_one_lake(
    landings: Landings, broker_admin: BrokerAdmin, tmp_path_factory: pytest.TempPathFactory
) -> None:
    topic = broker_admin.create_topic("clusters", 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"v"])
    landings.land(topic)
    other = OwnBroker(tmp_path_factory.mktemp("other"))
    try:
        send(other.address, topic, [b"v"])
        there = Landings(landings.spark, KafkaCluster(other.address), landings.folder)
        with pytest.raises(PipelineError, match=r"is a checkpoint of the cluster .*--checkpoint"):
            there.land(topic)
    finally:
        other.kill()
    (landings.folder / "lake").rename(landings.folder / "was")
    with pytest.raises(PipelineError, match="does not have batch 0 of the landing"):
        landings.land(topic)


def abort(address: str, topic: str) -> None:
    """One record of a transaction that is aborted, and its marker."""
    producer = Producer({"bootstrap.servers": address, "transactional.id": unique_name("t")})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"never")
    producer.flush()
    producer.abort_transaction()


def delete_topic(landings: Landings, topic: str) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": landings.cluster.bootstrap_servers})
    admin.delete_topics([topic], operation_timeout=20)[topic].result(20)


def delete_records(landings: Landings, topic: str, before: int) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": landings.cluster.bootstrap_servers})
    for future in admin.delete_records([TopicPartition(topic, 0, before)]).values():
        future.result(20)
