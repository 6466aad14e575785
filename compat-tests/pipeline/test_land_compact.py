"""`barnabas pipeline land compact`: the same rows in fewer files."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_admin import BrokerAdmin
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from barnabas.pipeline.land.compact import Compacted, compact
from barnabas.pipeline.land.json_values import JsonFormat
from barnabas.pipeline.land.parsing import Parsing
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

from .landings import KEPT, Landings, send

PARSING = Parsing(JsonFormat(StructType([StructField("id", LongType())])))


@pytest.fixture
def landings(spark: SparkSession, cluster: KafkaCluster, tmp_path: Path) -> Landings:
    return Landings(spark, cluster, tmp_path)


def seen(landings: Landings, topic: str) -> tuple[list[Row], list[Row]]:
    """All that readers see."""
    return landings.rows(), landings.lake.parsed(topic).orderBy("partition", "offset").collect()


def test_a_compaction_beside_a_landing_changes_files_and_no_row(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("small.files", 2, KEPT)
    values = [b'{"id":1,"more":2}', b"x", None, b'{"id":4}', b"", b'{"id":6}']
    for partition in (0, 1):
        send(landings.cluster.bootstrap_servers, topic, values, partition, headers=[("h", b"\xff")])
    landings.land(topic, parsing=PARSING, records_per_batch=4)
    before = seen(landings, topic)
    assert len(landings.lake.files()) > 4
    beside: list[object] = []

    def while_both_are_there(_: float) -> None:
        if not beside:
            beside.append(landings.rows() == before[0])
            send(landings.cluster.bootstrap_servers, topic, [b'{"id":7}'])
            beside.append(landings.land(topic, parsing=PARSING)[0].rows)

    found = compact(landings.spark, str(landings.path), grace_s=60, wait=while_both_are_there)
    assert beside == [True, 1]
    assert (found.into, len(landings.lake.files())) == (2, 3)
    rows, parsed = seen(landings, topic)
    assert [row for row in rows if row.value != b'{"id":7}'] == before[0]
    assert [row for row in parsed if row.value != b'{"id":7}'] == before[1]
    assert landings.lake.strangers() == landings.lake.missing() == ()
    assert len(rows) == 13
    dead = [place for place in landings.places() if place not in landings.plain_places()]
    assert len(dead) == 4
    held = [held for file in landings.lake.files() for held in file.offsets.values()]
    assert sum(each.rows for each in held) == 13
    again = compact(landings.spark, str(landings.path))
    assert (again.merged, again.into) == (2, 1)
    assert compact(landings.spark, str(landings.path)) == Compacted()
    assert seen(landings, topic) == (rows, parsed)


def test_files_that_do_not_hold_what_they_should_are_not_merged(
    landings: Landings, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("changed.files", 1, KEPT)
    send(landings.cluster.bootstrap_servers, topic, [b"1", b"2", b"3"])
    landings.land(topic, records_per_batch=1)
    first, second, _ = (landings.path / file.path for file in landings.lake.files())
    second.write_bytes(first.read_bytes())
    files = landings.lake.files()
    with pytest.raises(PipelineError, match="do not hold what the files to be merged do"):
        compact(landings.spark, str(landings.path))
    assert landings.lake.files() == files
    assert landings.lake.strangers() == landings.lake.missing() == ()
