"""Spark's own source and sink as a process that is measured: a JSON line in, one out.

    python spark_jobs.py JARS      reads {"do": "read" | "sink", "bootstrap": …, "topic": …}

The same Spark serves all brokers, so that none has the warmer one.
"""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch
from barnabas.pipeline.spark.session import running_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS = 4
SETTINGS = {"spark.driver.memory": "1g"}


def read(spark: "SparkSession", cluster: KafkaCluster, topic: str) -> float:
    """Seconds to read a whole topic, every column of it, into nothing."""
    started = time.perf_counter()
    frame = read_batch(spark, cluster, topics=[topic])
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started


def sink(
    spark: "SparkSession", cluster: KafkaCluster, topic: str, records: int, size: int
) -> float:
    """Seconds to write so many records with values of `size` bytes; they hardly compress."""
    frame = rows(spark, records, size)
    started = time.perf_counter()
    options = cluster.source_options() | {"topic": topic}
    frame.write.format("kafka").options(**options).save()
    return time.perf_counter() - started


def rows(spark: "SparkSession", records: int, size: int) -> "DataFrame":
    """`value`: hashes of the row's number, one after the other."""
    pieces = [f"hex(xxhash64(id, {number}))" for number in range(-(-size // 16))]
    value = f"rpad(concat({', '.join(pieces)}), {size}, '.') AS value"
    return spark.range(0, records, 1, TASKS).selectExpr(value)


def main() -> None:
    """Answer commands until the input ends."""
    jars = Path(sys.argv[1])
    jobs = {"read": read, "sink": sink}
    with running_session("bench", master="local[2]", jars=jars, settings=SETTINGS) as spark:
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            command = json.loads(line)
            job, cluster = jobs[command.pop("do")], KafkaCluster(command.pop("bootstrap"))
            print(json.dumps({"seconds": job(spark, cluster, **command)}), flush=True)


if __name__ == "__main__":
    main()
