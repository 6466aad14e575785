"""What the demo looks at itself: whether two topics hold the same, and what was counted."""

from typing import TYPE_CHECKING

from barnabas.pipeline.lake.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def compared(spark: "SparkSession", path: str, one: str, other: str) -> tuple[int, int, int]:
    """Records of the one, of the other, and those that have no equal there."""
    from pyspark.sql import functions as f

    lake = Lake(spark, path)

    def counted(topic: str, name: str) -> "DataFrame":
        content = f.xxhash64("partition", "key", "value", "headers", "timestamp")
        rows = lake.rows([topic]).select(content.alias("content"))
        return rows.groupBy("content").agg(f.count("*").alias(name))

    both = counted(one, "one").join(counted(other, "other"), "content", "full").fillna(0)
    found = both.agg(
        f.sum("one"), f.sum("other"), f.sum(f.abs(f.col("one") - f.col("other")))
    ).first()
    assert found is not None, "a sum over everything is one row"
    return int(found[0] or 0), int(found[1] or 0), int(found[2] or 0)


def counts_by_kind(spark: "SparkSession", folder: str) -> list[dict[str, int | str]]:
    """What `aggregate` has counted in all of its windows, people and bots apart."""
    from pyspark.sql import functions as f

    windows = spark.read.parquet(f"{folder}/windows")
    sums = windows.groupBy("kind").agg(
        f.sum(f.when(~f.col("is_bot"), f.col("events"))).alias("people"),
        f.sum(f.when(f.col("is_bot"), f.col("events"))).alias("bots"),
    )
    return [row.asDict() for row in sums.orderBy("kind").collect()]
