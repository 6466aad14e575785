"""Values parsed while they land: JSON, CSV or Avro, with the schema of a file.

A record whose value cannot be parsed becomes a dead letter, with a reason and with all that it
came with; it never stops the stream. A null value (a tombstone) is no failure: it has no
`parsed`. Nothing is guessed: a field that the schema does not know is named and counted, and
stays where it was, in the raw value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, StringType, StructType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

REGISTRY_HEADER_BYTES = 5  # a zero byte, then the schema's id in four


@dataclass(frozen=True)
class Values:
    """What a format makes of values: columns over the column `payload`, which is not null."""

    parsed: Column
    reason: Column  # null where the value could be parsed
    unknown_fields: Column | None = None


class Format:
    """A way to write records down; those that are used derive from it."""

    finds_unknown_fields = False

    @property
    def schema(self) -> StructType:
        """Of the column `parsed`."""
        raise NotImplementedError

    def values(self, rows: DataFrame) -> tuple[DataFrame, Values]:
        """Rows with helping columns, and the columns made of them."""
        raise NotImplementedError


@dataclass(frozen=True)
class Parsing:
    """How the values of a landing are parsed."""

    format: Format
    registry_format: bool = False

    @property
    def schema_json(self) -> str:
        """The schema of the column `parsed` in Spark's JSON."""
        return self.format.schema.json()

    @property
    def finds_unknown_fields(self) -> bool:
        return self.format.finds_unknown_fields

    def parsed(self, rows: DataFrame) -> DataFrame:
        """The rows with the columns schema_id, parsed, reason and unknown_fields."""
        before = rows.columns
        rows = rows.withColumns({"schema_id": self._schema_id(), "payload": self._payload()})
        rows, values = self.format.values(rows)
        is_null, has_payload = f.col("value").isNull(), f.col("payload").isNotNull()
        reason = f.when(is_null, f.lit(None).cast("string")).otherwise(
            f.when(has_payload, values.reason).otherwise(self._why_no_payload())
        )
        rows = rows.withColumn("reason", reason)
        is_good = has_payload & f.col("reason").isNull()
        unknown = values.unknown_fields
        if unknown is None:
            unknown = f.lit(None).cast(ArrayType(StringType()))
        nothing = f.lit(None).cast(self.format.schema)
        return rows.select(
            *before,
            "schema_id",
            f.when(is_good, values.parsed.cast(self.format.schema))
            .otherwise(nothing)
            .alias("parsed"),
            "reason",
            f.when(is_good & (f.size(unknown) > 0), unknown).alias("unknown_fields"),
        )

    def _has_header(self) -> Column:
        is_long_enough = f.length("value") >= REGISTRY_HEADER_BYTES
        return is_long_enough & (f.substring("value", 1, 1) == f.lit(b"\0"))

    def _schema_id(self) -> Column:
        if not self.registry_format:
            return f.lit(None).cast("int")
        unsigned = f.conv(f.hex(f.substring("value", 2, 4)), 16, 10).cast("bigint")
        signed = f.when(unsigned >= 1 << 31, unsigned - (1 << 32)).otherwise(unsigned)
        return f.when(self._has_header(), signed.cast("int"))

    def _payload(self) -> Column:
        if not self.registry_format:
            return f.col("value")
        payload = f.expr(f"substring(value, {REGISTRY_HEADER_BYTES + 1})")
        return f.when(self._has_header(), payload)

    def _why_no_payload(self) -> Column:
        return f.lit(
            "the value does not begin with a zero byte and the four of a schema id, as the "
            "registry's format does"
        )


def is_text(text: Column) -> Column:
    """Whether bytes that were cast to a string are UTF-8."""
    return f.is_valid_utf8(text)
