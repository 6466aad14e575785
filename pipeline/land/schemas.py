"""Schema files: for Avro its own; else Spark's own two forms, and JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.pipeline.land.avro_values import AvroFormat
from barnabas.pipeline.land.csv_values import CsvFormat
from barnabas.pipeline.land.json_values import JsonFormat
from barnabas.pipeline.land.parsing import Format
from barnabas.pipeline.spark.failures import PipelineError, one_line

JSON_SCHEMA_TYPES: Mapping[str, DataType] = {
    "string": StringType(),
    "integer": LongType(),
    "number": DoubleType(),
    "boolean": BooleanType(),
}
JSON_SCHEMA_FORMATS: Mapping[str, DataType] = {"date-time": TimestampType(), "date": DateType()}


def read_format(kind: str, path: Path, options: Mapping[str, str]) -> Format:
    """The format of --parse with the schema of a file; PipelineError says what is wrong."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"--schema {path} cannot be read: {error}") from error
    try:
        if kind == "avro":
            return AvroFormat(text)
        columns = columns_of(text)
    except PipelineError as error:
        raise PipelineError(f"--schema {path}: {error.message}") from error
    given = tuple(sorted(options.items()))
    return JsonFormat(columns, given) if kind == "json" else CsvFormat(columns, given)


def columns_of(text: str) -> StructType:
    """The columns that a schema file describes.

    `id BIGINT, name STRING` (Spark's DDL), {"type": "struct", "fields": …} (Spark's JSON) or
    {"type": "object", "properties": …} (JSON Schema).
    """
    if not text.lstrip().startswith("{"):
        return _of_ddl(text)
    try:
        read = json.loads(text)
    except ValueError as error:
        raise PipelineError(f"it is no JSON: {error}") from error
    if read.get("type") == "struct":
        return _of_spark_json(read)
    if "properties" in read:
        return _object(read)
    raise PipelineError(
        'it is neither Spark\'s schema ({"type": "struct", …}) nor JSON Schema '
        '({"type": "object", "properties": …})'
    )


def _of_ddl(text: str) -> StructType:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "--"))]
    try:
        columns = StructType.fromDDL(" ".join(lines))
    except Exception as error:
        raise PipelineError(
            f"it is no list of columns and types: {one_line(str(error))}"
        ) from error
    if not isinstance(columns, StructType) or not columns.fields:
        raise PipelineError("it has no columns; `id BIGINT, name STRING` has two")
    return columns


def _of_spark_json(read: dict[str, Any]) -> StructType:
    try:
        return StructType.fromJson(read)
    except Exception as error:
        raise PipelineError(f"it is no schema of Spark's: {one_line(str(error))}") from error


def _object(read: Mapping[str, Any]) -> StructType:
    fields = read["properties"].items()
    return StructType([StructField(name, _type_of(each, name)) for name, each in fields])


def _type_of(read: Mapping[str, Any], name: str) -> DataType:
    kinds = read.get("type")
    named = [kinds] if isinstance(kinds, str) else list(kinds or [])
    named = [kind for kind in named if kind != "null"]
    if len(named) != 1:
        raise PipelineError(f"field {name} has no one type that Spark could give it")
    if named[0] == "string" and read.get("format") in JSON_SCHEMA_FORMATS:
        return JSON_SCHEMA_FORMATS[read["format"]]
    if named[0] in JSON_SCHEMA_TYPES:
        return JSON_SCHEMA_TYPES[named[0]]
    if named[0] == "array" and "items" in read:
        return ArrayType(_type_of(read["items"], f"{name}[]"))
    if named[0] == "object" and "properties" in read:
        return _object(read)
    if named[0] == "object" and isinstance(read.get("additionalProperties"), Mapping):
        return MapType(StringType(), _type_of(read["additionalProperties"], f"{name}.*"))
    raise PipelineError(f"field {name}: there is no Spark type for {named[0]!r}")
