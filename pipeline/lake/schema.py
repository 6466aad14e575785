"""The columns of a lake."""

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)

# What a Parquet file holds of each record, whatever its topic.
RECORD_FIELDS = (
    StructField("topic_id", StringType()),  # Kafka's base64; null on clusters before 2.8
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestamp_type", IntegerType()),  # 0 create time, 1 log append time
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("headers", HEADERS),  # null for none, as the source has it
    StructField("leader_epoch", IntegerType()),  # null where the cluster does not tell
    StructField("landed_at", TimestampType()),
    StructField("schema_id", IntegerType()),  # of the registry; null for other formats
)
REASON = StructField("reason", StringType())  # why a record is a dead letter, null for all others
# Only where values were parsed, as a struct `parsed` is: what the schema did not know of.
UNKNOWN_FIELDS = StructField("unknown_fields", ArrayType(StringType()))
# In the path of a file and not in it: topic=orders/date=2026-03-01/…, the day in UTC.
FOLDER_FIELDS = (StructField("topic", StringType()), StructField("date", DateType()))

LAKE_SCHEMA = StructType([FOLDER_FIELDS[0], *RECORD_FIELDS, FOLDER_FIELDS[1]])
ROWS_SCHEMA = StructType([*LAKE_SCHEMA.fields, REASON])


def stored_schema(parsed: str = "") -> StructType:
    """The columns in a file; `parsed` is the schema of that struct in Spark's JSON."""
    if not parsed:
        return StructType([*RECORD_FIELDS])
    struct = StructField("parsed", StructType.fromJson(_loaded(parsed)))
    return StructType([*RECORD_FIELDS, struct, REASON, UNKNOWN_FIELDS])


def file_schema(parsed: str = "") -> StructType:
    """What to read of files: the columns in them and in their path, and always `reason`."""
    stored = stored_schema(parsed).fields
    more = [] if parsed else [REASON]
    return StructType([*stored, *more, *FOLDER_FIELDS])


def _loaded(text: str) -> dict[str, object]:
    import json

    loaded: dict[str, object] = json.loads(text)
    return loaded
