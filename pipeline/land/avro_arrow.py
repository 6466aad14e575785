"""Avro records to Arrow. Together with `avro_schema` all that an executor needs of Barnabas."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from barnabas.pipeline.land.avro_schema import AvroError, compile_schema, read_value

Array = Any  # pyarrow tells no types


def read_array(payload: Array, schema_text: str, parsed: Any) -> Array:
    """For each value {parsed, reason}, one of them null; both for a null value."""
    pa = import_module("pyarrow")
    type_ = compile_schema(schema_text)
    values: list[Any] = []
    reasons: list[str | None] = []
    for data in payload.to_pylist():
        value = reason = None
        if data is not None:
            try:
                value = read_value(type_, data)
            except AvroError as error:
                reason = str(error) if data else "the value is empty"
        values.append(value)
        reasons.append(reason)
    columns = [pa.array(values, parsed), pa.array(reasons, pa.string())]
    return pa.StructArray.from_arrays(columns, ["parsed", "reason"])
