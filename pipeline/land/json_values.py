"""JSON objects with a schema, parsed by Spark itself.

Spark's parser is content with the first value of a text, and looks away from what follows. So a
value is parsed as a field of an object whose last field is ours: what is not one whole object
breaks that, or hides our field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as f
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from barnabas.pipeline.land.parsing import Format, Values, is_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VALUE, END, CORRUPT = "v", "_end_of_value", "_corrupt"
NAMED_FIELDS = 100  # which field is wrong is looked for among so many


@dataclass(frozen=True)
class JsonFormat(Format):
    """JSON objects, one to a value."""

    columns: StructType
    options: tuple[tuple[str, str], ...] = ()

    finds_unknown_fields = True

    @property
    def schema(self) -> StructType:
        return self.columns

    def values(self, rows: DataFrame) -> tuple[DataFrame, Values]:
        text = f.col("payload").cast("string")
        whole = f.concat(f.lit(f'{{"{VALUE}":'), text, f.lit(f',"{END}":1}}'))
        rows = rows.withColumn("whole", whole)
        rows = rows.withColumn("read", self._read(self.columns))
        rows = rows.withColumn("keys", f.json_object_keys("whole"))
        reason = (
            f.when(f.length("payload") == 0, "the value is empty")
            .when(~is_text(text), "the value is not UTF-8")
            .when(~text.rlike(r"^\s*\{"), "the value is not a JSON object")
            .when(~self._is_one_object(), "the value is not one whole JSON object")
            .when(f.col("read")[CORRUPT].isNotNull(), self._wrong_field())
        )
        unknown = f.array_compact(f.flatten(f.array(*self._unknown(self.columns, ()))))
        return rows, Values(f.col("read")[VALUE], reason, unknown)

    def _read(self, columns: StructType) -> Column:
        fields = [StructField(VALUE, columns), StructField(END, IntegerType())]
        wanted = StructType([*fields, StructField(CORRUPT, StringType())])
        options = {**dict(self.options), "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        return f.from_json("whole", wanted, options)

    def _is_one_object(self) -> Column:
        wanted = f.array(f.lit(VALUE), f.lit(END))
        return f.coalesce(f.col("keys") == wanted, f.lit(False))

    def _wrong_field(self) -> Column:
        fields = self.columns.fields[:NAMED_FIELDS]
        told = [
            f.when(
                self._read(StructType([each]))[CORRUPT].isNotNull(),
                f"field {each.name} is no {each.dataType.simpleString()}",
            )
            for each in fields
        ]
        return f.coalesce(*told, f.lit("the value does not fit the schema"))

    def _unknown(self, columns: StructType, path: tuple[str, ...]) -> Iterator[Column]:
        """For each object of the schema the fields it has and the schema does not."""
        place = "".join(f"['{name}']" for name in (VALUE, *path))
        keys = f.json_object_keys(f.get_json_object("whole", f"${place}"))
        known = f.array(*(f.lit(name) for name in columns.names))
        prefix = "".join(f"{name}." for name in path)
        found = f.transform(f.array_except(keys, known), lambda key: f.concat(f.lit(prefix), key))
        yield f.coalesce(found, f.array().cast("array<string>"))
        for each in columns.fields:
            if isinstance(each.dataType, StructType) and "'" not in each.name:
                yield from self._unknown(each.dataType, (*path, each.name))
