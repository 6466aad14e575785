"""Avro values that Apache's own Java library wrote land as what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from broker_admin import BrokerAdmin
from pyspark.sql import SparkSession

from barnabas.pipeline.land.avro_values import AvroFormat
from barnabas.pipeline.land.parsing import Parsing
from barnabas.pipeline.land.schemas import columns_of, read_format
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster

from .landings import KEPT, Landings, send

STAMP = {"type": "long", "logicalType": "timestamp-millis"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
KIND = {"type": "enum", "name": "kind", "symbols": ["view", "search"]}
PLACE = {
    "type": "record",
    "name": "place",
    "fields": [{"name": "x", "type": "double"}, {"name": "y", "type": ["null", "float"]}],
}
SCHEMA = {
    "type": "record",
    "name": "event",
    "namespace": "a.b",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "small", "type": "int"},
        {"name": "ok", "type": "boolean"},
        {"name": "name", "type": ["null", "string"], "default": None},
        {"name": "at", "type": STAMP},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "price", "type": PRICE},
        {"name": "kind", "type": KIND},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "place", "type": ["null", PLACE]},
        {"name": "either", "type": ["int", "null", "string"]},
        {"name": "raw", "type": {"type": "fixed", "name": "two", "size": 2}},
    ],
}
EVENT: dict[str, Any] = {
    "id": -(2**63),
    "small": 2**31 - 1,
    "ok": True,
    "name": {"string": "né"},
    "at": 253_402_300_799_999,
    "day": -21_000,
    "price": "\u00ff\u0085",
    "kind": "search",
    "tags": ["a", ""],
    "counts": {"k": -1},
    "place": {"a.b.place": {"x": 1.5, "y": {"float": 0.25}}},
    "either": {"string": "s"},
    "raw": "\u0001\u00ff",
}


def by_java(spark: SparkSession, event: dict[str, Any]) -> bytes:
    """The event as Apache Avro encodes it; PySpark has its jar."""
    jvm: Any = spark.sparkContext._jvm
    avro = jvm.org.apache.avro
    schema = avro.Schema.Parser().parse(json.dumps(SCHEMA))
    decoder = avro.io.DecoderFactory.get().jsonDecoder(schema, json.dumps(event))
    datum = avro.generic.GenericDatumReader(schema).read(None, decoder)
    stream = jvm.java.io.ByteArrayOutputStream()
    encoder = avro.io.EncoderFactory.get().binaryEncoder(stream, None)
    avro.generic.GenericDatumWriter(schema).write(datum, encoder)
    encoder.flush()
    return bytes(stream.toByteArray())


def test_what_java_wrote_lands_in_columns(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    landings = Landings(spark, cluster, tmp_path)
    topic = broker_admin.create_topic("avro", 1, KEPT)
    event = by_java(spark, EVENT)
    bare = by_java(spark, {**EVENT, "name": None, "place": None, "either": None, "tags": []})
    frame = b"\0\0\0\0\x2a"
    values = [frame + event, frame + bare, None, frame + event[:-1], frame + event + b"\0", event]
    send(cluster.bootstrap_servers, topic, values)
    landings.land(topic, parsing=Parsing(AvroFormat(json.dumps(SCHEMA)), registry_format=True))
    rows = landings.rows()
    assert [row.value for row in rows] == values
    assert [row.schema_id for row in rows] == [42, 42, None, 42, 42, None]
    reasons = [row.reason for row in rows]
    assert reasons[:3] == [None, None, None]
    assert "field raw: byte" in reasons[3] and reasons[4] == "1 bytes are left after the record"
    assert "schema id" in reasons[5]
    parsed = landings.lake.parsed(topic).orderBy("offset")
    full, less, nothing = parsed.selectExpr(
        "parsed.id", "parsed.small", "parsed.ok", "parsed.name",
        "unix_millis(parsed.at)", "unix_date(parsed.day)", "string(parsed.price)", "parsed.kind",
        "parsed.tags", "parsed.counts", "parsed.place.x", "parsed.place.y",
        "parsed.either.member0", "parsed.either.member1", "parsed.raw",
    ).collect()  # fmt: skip
    assert tuple(full) == (
        -(2**63), 2**31 - 1, True, "né", 253_402_300_799_999, -21_000, "-1.23", "search",
        ["a", ""], {"k": -1}, 1.5, 0.25, None, "s", b"\x01\xff",
    )  # fmt: skip
    assert (less.name, less.tags, less.x, less.member1) == (None, [], None, None)
    assert set(nothing) == {None}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id BIGINT, name STRING", "struct<id:bigint,name:string>"),
        ("-- a remark\nid BIGINT,\nn STRUCT<b: INT>", "struct<id:bigint,n:struct<b:int>>"),
        (
            '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}',
            "struct<a:bigint>",
        ),
        (
            '{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["null","string"]},'
            '"c":{"type":"array","items":{"type":"number"}},"d":{"type":"string",'
            '"format":"date-time"},"e":{"type":"object","properties":{"f":{"type":"boolean"}}}}}',
            "struct<a:bigint,b:string,c:array<double>,d:timestamp,e:struct<f:boolean>>",
        ),
    ],
)
def test_schema_files_are_understood(spark: SparkSession, text: str, columns: str) -> None:
    assert columns_of(text).simpleString() == columns


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", ""),
        ("json", "id"),
        ("json", "{"),
        ("json", '{"type": "array"}'),
        ("csv", '{"type": "struct", "fields": [{}]}'),
        ("json", '{"type": "object", "properties": {"a": {"type": ["string", "integer"]}}}'),
        ("avro", "id BIGINT"),
        ("avro", '{"type": "record", "name": "r", "fields": [{"name": "a"}]}'),
    ],
)
def test_a_schema_file_that_is_none_is_one_sentence(
    spark: SparkSession, tmp_path: Path, kind: str, text: str
) -> None:
    path = tmp_path / "schema"
    path.write_text(text)
    with pytest.raises(PipelineError, match=r"--schema .*schema: "):
        read_format(kind, path, {})
