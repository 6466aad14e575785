"""CSV lines with a schema, parsed by Spark itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.pipeline.land.parsing import Format, Values, is_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CORRUPT = "_corrupt"


@dataclass(frozen=True)
class CsvFormat(Format):
    """CSV, one line to a value, its columns in the order of the schema."""

    columns: StructType
    options: tuple[tuple[str, str], ...] = ()

    @property
    def schema(self) -> StructType:
        return self.columns

    def values(self, rows: DataFrame) -> tuple[DataFrame, Values]:
        text = f.col("payload").cast("string")
        rows = rows.withColumn("line", text).withColumn("read", self._read(self.columns))
        reason = (
            f.when(f.length("payload") == 0, "the value is empty")
            .when(~is_text(text), "the value is not UTF-8")
            .when(f.col("read").isNull(), "the value is no line of CSV")
            .when(f.col("read")[CORRUPT].isNotNull(), self._what_is_wrong())
        )
        parsed = f.struct(*(f.col("read")[name].alias(name) for name in self.columns.names))
        return rows, Values(parsed, reason)

    def _read(self, columns: StructType) -> Column:
        options = {**dict(self.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        wanted = StructType([*columns.fields, StructField(CORRUPT, StringType())])
        fields = ", ".join(
            f"`{each.name}` {each.dataType.simpleString()}" for each in wanted.fields
        )
        return f.from_csv(f.col("line"), fields, options)

    def _what_is_wrong(self) -> Column:
        as_text = self._read(StructType([StructField(n, StringType()) for n in self.columns.names]))
        count = len(self.columns.fields)
        told = [
            f.when(
                as_text[each.name].isNotNull()
                & as_text[each.name].try_cast(each.dataType).isNull(),
                f"column {each.name} is no {each.dataType.simpleString()}",
            )
            for each in self.columns.fields
        ]
        columns = f"the value does not have {count} columns as the schema does"
        return f.when(as_text[CORRUPT].isNotNull(), columns).otherwise(
            f.coalesce(*told, f.lit("the value does not fit the schema"))
        )
