"""Avro records with a schema, read by a function in Python, some rows at a time.

Spark's own reader of Avro is a jar of its own, and says of a value only that it is none; this
one says where, and needs nothing that is not here already.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from barnabas.pipeline.land import avro_arrow, avro_schema
from barnabas.pipeline.land.avro_schema import AvroError, compile_schema
from barnabas.pipeline.land.parsing import Format, Values
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class AvroFormat(Format):
    """Avro's binary encoding of records, one to a value."""

    schema_text: str

    def __post_init__(self) -> None:
        try:
            compile_schema(self.schema_text)
        except (AvroError, KeyError, TypeError, ValueError) as error:
            raise PipelineError(f"it is no schema of Avro's: {error}") from error

    @property
    def schema(self) -> StructType:
        return StructType.fromJson(compile_schema(self.schema_text).spark)

    def values(self, rows: DataFrame) -> tuple[DataFrame, Values]:
        rows = rows.withColumn("read", self._reader()(f.col("payload")))
        return rows, Values(f.col("read.parsed"), f.col("read.reason"))

    def _reader(self) -> Any:
        from pyspark.sql.pandas.types import to_arrow_type

        cloudpickle: Any = import_module("pyspark.cloudpickle")
        arrow_udf: Any = import_module("pyspark.sql.functions").arrow_udf
        # Executors need not have Barnabas: the modules go there with the function.
        for module in (avro_schema, avro_arrow):
            cloudpickle.register_pickle_by_value(module)
        text, parsed, read_array = self.schema_text, self.schema, avro_arrow.read_array
        arrow_type = to_arrow_type(parsed, timezone="UTC")
        columns = [StructField("parsed", parsed), StructField("reason", StringType())]
        # PySpark looks for the kind of function in its annotations, and takes none for scalar.
        return arrow_udf(lambda values: read_array(values, text, arrow_type), StructType(columns))
