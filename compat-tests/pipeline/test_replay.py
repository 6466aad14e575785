"""`replay` by Spark: what comes back, what is left out, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from broker_admin import BrokerAdmin, unique_name
from replay_parts import Content, Headers, Placed, contents_by_partition, make_lake, read_back

from barnabas.pipeline.replay.job import replay
from barnabas.pipeline.replay.request import Request
from barnabas.pipeline.replay.selection import OffsetRange, Selection
from barnabas.pipeline.spark.failures import PipelineError, sentences
from barnabas.pipeline.spark.kafka import KafkaCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 3
START_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
KEYS = (None, b"", b"a", b"\x00\xff")
VALUES = (b"v", None, b"", b"x" * 300)
HEADERS: tuple[Headers, ...] = ((), (("a", b"1"), ("a", None), ("a", b"1")), (("é", b"\xff\x00"),))
LARGE = b"\x00large" * 170_000


def odd_records() -> list[Placed]:
    """Gaps in offsets, nulls, nothing, repeated headers, times out of order, a megabyte."""
    records = []
    for n in range(1200):
        stamp = START_MS + (n * 7919 % 1200) * 60_000
        value = LARGE if n in (500, 501, 502) else VALUES[n // 5 % 4]
        content = Content(stamp, KEYS[n % 4], value, HEADERS[n % 3])
        records.append(Placed(n % PARTITIONS, n // PARTITIONS * 3 + 10, content))
    return [*records, Placed(0, 5, Content(-1, None, None, ()))]


RECORDS = odd_records()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the topic `odd`; replays keep their checkpoints elsewhere."""
    folder = tmp_path_factory.mktemp("replay") / "lake"
    make_lake(folder, "odd", RECORDS)
    return folder


Run = Callable[..., int]


@pytest.fixture
def run(spark: SparkSession, cluster: KafkaCluster, lake: Path, tmp_path: Path) -> Run:
    """Replay `odd` into a topic; the number of records that were written."""

    def run(target: str, selection: Selection | None = None, **options: Any) -> int:
        request = Request(selection or Selection(("odd",)), {"odd": target})
        request = replace(request, **options)
        return replay(spark, lake, cluster, request, checkpoint=tmp_path / "at").written

    return run


def test_every_record_comes_back_as_it_was_in_transactions(run: Run, broker_address: str) -> None:
    target = unique_name("replay-once")
    assert run(target, exactly_once=True, create=True) == len(RECORDS)
    assert run(target, exactly_once=True) == 0
    assert read_back(broker_address, target, PARTITIONS) == contents_by_partition(
        RECORDS, PARTITIONS
    )


def test_every_record_comes_back_as_it_was_without_them(
    run: Run, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    target = broker_admin.create_topic("replay-plain", PARTITIONS + 1, {"retention.ms": "-1"})
    assert run(target) == len(RECORDS)
    assert run(target) == 0
    assert read_back(broker_address, target, PARTITIONS + 1) == contents_by_partition(
        RECORDS, PARTITIONS + 1
    )


def test_what_is_not_selected_is_left_out(run: Run, broker_address: str) -> None:
    """By time, key and offsets at once; at a rate."""
    target = unique_name("replay-some")
    selection = Selection(
        ("odd",), ("b2Ygc291cmNl",), START_MS + HOUR_MS, START_MS + 15 * HOUR_MS,
        (b"a", b"\x00\xff"), (OffsetRange(0, 100), OffsetRange(2, 0, 600)),
    )  # fmt: skip
    wanted = [
        record
        for record in RECORDS
        if START_MS + HOUR_MS <= record.content.timestamp_ms < START_MS + 15 * HOUR_MS
        and record.content.key in (b"a", b"\x00\xff")
        and (
            (record.partition == 0 and record.offset >= 100)
            or (record.partition == 2 and record.offset <= 600)
        )
    ]
    assert 50 < len(wanted) < len(RECORDS) / 2
    written = run(target, selection, exactly_once=True, create=True, per_second=100.0)
    assert written == len(wanted)
    assert read_back(broker_address, target, PARTITIONS) == contents_by_partition(
        wanted, PARTITIONS
    )


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_days_are_those_of_the_lake_whatever_the_time_zone_of_the_session(
    spark: SparkSession, zone: str
) -> None:
    """Flow: records of the first and the last millisecond of a UTC day, and beside it; a notebook's
    session has its own time zone."""
    day_ms = 19_675 * 24 * HOUR_MS
    times = [day_ms - 1, day_ms, day_ms + 24 * HOUR_MS - 1, day_ms + 24 * HOUR_MS]
    stamped = spark.createDataFrame([(each,) for each in times], "ms long")
    rows = stamped.selectExpr(
        "ms",
        "timestamp_millis(ms) AS timestamp",
        "date_from_unix_date(int(floor(ms / 86400000))) AS date",
    )
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        chosen = Selection(("odd",), from_ms=day_ms, to_ms=day_ms + 24 * HOUR_MS).of(rows)
        assert sorted(row.ms for row in chosen.collect()) == times[1:3]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_target_that_was_made_again_is_filled_again_and_another_request_is_not_gone_on_with(
    run: Run, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    target = unique_name("replay-anew")
    some = Selection(("odd",), offsets=(OffsetRange(1, 0, 100),))
    first = run(target, some, exactly_once=True, create=True)
    broker_admin.delete_topic(target)
    assert run(target, some, exactly_once=True, create=True) == first > 0
    assert sum(map(len, read_back(broker_address, target, PARTITIONS))) == first
    with pytest.raises(PipelineError, match=r"of another replay \(selection differ"):
        run(target, exactly_once=True)


def test_targets_that_do_not_fit_are_refused_and_stay_as_they_are(
    run: Run, broker_admin: BrokerAdmin
) -> None:
    few = broker_admin.create_topic("replay-few", PARTITIONS - 1)
    with pytest.raises(PipelineError, match=f"{few} has 2 partitions and odd has 3"):
        run(few)
    stamps = {"message.timestamp.type": "LogAppendTime"}
    own_stamps = broker_admin.create_topic("replay-stamps", PARTITIONS, stamps)
    with pytest.raises(PipelineError, match="stamps its records itself"):
        run(own_stamps, exactly_once=True)
    with pytest.raises(PipelineError, match="there is no topic missing"):
        run("missing")


def test_a_record_that_the_target_does_not_take_is_one_sentence(
    run: Run, broker_admin: BrokerAdmin, broker_address: str
) -> None:
    """It is found out by a task, and nothing of its transaction is left."""
    small = {"max.message.bytes": "2000", "retention.ms": "-1"}
    target = broker_admin.create_topic("replay-too-large", PARTITIONS, small)
    large = Selection(("odd",), offsets=(OffsetRange(0, 505, 511),))
    with pytest.raises(PipelineError, match=r"raise max\.message\.bytes"), sentences():
        run(target, large, exactly_once=True)
    assert read_back(broker_address, target, PARTITIONS) == [[], [], []]


def test_a_lake_with_doubled_rows_or_without_the_topic_is_not_replayed(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    target = broker_admin.create_topic("replay-doubled", PARTITIONS)
    make_lake(tmp_path, "odd", RECORDS[:10])
    make_lake(tmp_path, "odd", RECORDS[8:12])
    doubled = Request(Selection(("odd",)), {"odd": target})
    with pytest.raises(PipelineError, match="the lake has 2 records twice, of odd-"):
        replay(spark, tmp_path, cluster, doubled)
    unknown = Request(Selection(("other",)), {"other": target})
    with pytest.raises(PipelineError, match="the lake has no topic other; it has odd"):
        replay(spark, tmp_path, cluster, unknown)
