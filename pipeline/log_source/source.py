"""The data source as PySpark's Python Data Source API wants it: source, reader, partition."""

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.pipeline.log_source.errors import LogSourceError
from barnabas.pipeline.log_source.options import ReadOptions, parse_options
from barnabas.pipeline.log_source.pieces import Piece

FORMAT: Final = "barnabas-log"

_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_ROW: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
_WITH_HEADERS: Final[dict[str, DataType]] = {"headers": ArrayType(_HEADER)}
_WITH_CONTROL: Final[dict[str, DataType]] = {"controlType": StringType()}
_WITH_LINEAGE: Final[dict[str, DataType]] = {
    "leaderEpoch": IntegerType(),
    "segment": StringType(),
    "batchPosition": LongType(),
}


def register(spark: SparkSession) -> None:
    """Make `spark.read.format("barnabas-log")` known to a session."""
    spark.dataSource.register(LogSource)


def schema_of(options: ReadOptions) -> StructType:
    """The Kafka source's columns, and those that the options add."""
    columns = dict(_ROW)
    if options.with_headers:
        columns |= _WITH_HEADERS
    if options.with_control:
        columns |= _WITH_CONTROL
    if options.with_lineage:
        columns |= _WITH_LINEAGE
    return StructType([StructField(name, kind) for name, kind in columns.items()])


class LogSource(DataSource):
    """Segment files of data directories, without a broker."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return schema_of(parse_options(self.options))

    def reader(self, schema: StructType) -> "LogReader":
        return LogReader(parse_options(self.options), schema)


class TaskPieces(InputPartition):
    """What one task reads."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__(pieces)


class LogReader(DataSourceReader):
    """Plans on the driver, reads on the executors. A schema of fewer columns reads no others.

    Takes no filters (`pushFilters`): Spark 4.2.0 keeps what one query of a DataFrame has pushed
    down and reads no more than that for the next query of it, whose filters are others.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        _refuse_unknown_columns(schema, schema_of(options))
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        from barnabas.pipeline.log_source.plan import plan

        return [TaskPieces(pieces) for pieces in plan(self._options)] or [TaskPieces([])]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        from pyspark.sql.pandas.types import to_arrow_schema

        from barnabas.pipeline.log_source.reading import Selection, read_piece

        selection = Selection(
            schema=to_arrow_schema(self._schema, timezone="UTC"),
            with_control=self._options.with_control,
            fail_on_data_loss=self._options.fail_on_data_loss,
        )
        for piece in partition.value:
            yield from read_piece(piece, selection)


def _refuse_unknown_columns(wanted: StructType, known: StructType) -> None:
    kinds = {field.name: field.dataType for field in known}
    for field in wanted:
        if kinds.get(field.name) != field.dataType:
            raise LogSourceError(
                f"{FORMAT} has no column {field.name} of type {field.dataType.simpleString()}; it"
                f" has {known.simpleString()}, and more with includeHeaders, includeControl and"
                " includeLineage"
            )
