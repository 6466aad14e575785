"""Spark's Kafka connector: four jars that PySpark does not bring.

Either they lie in a folder (no network is asked), or Spark fetches them by their Maven
coordinate. PySpark already has most of what the coordinate depends on: without the exclusions
that would be fetched a second time, 63 MB instead of 10.
"""

import os
from pathlib import Path

from barnabas.pipeline.spark.failures import PipelineError

JARS_VARIABLE = "BARNABAS_SPARK_JARS"
SCALA = "2.13"
EXCLUDED = (
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.hadoop:hadoop-client-api",
    "org.scala-lang.modules:scala-parallel-collections_2.13",
    "org.slf4j:slf4j-api",
    "com.google.code.findbugs:jsr305",
    "at.yawk.lz4:lz4-java",
    "org.lz4:lz4-java",
    "org.xerial.snappy:snappy-java",
)
# What a folder of jars has to hold, by the beginnings of their names.
NEEDED = (
    f"spark-sql-kafka-0-10_{SCALA}",
    f"spark-token-provider-kafka-0-10_{SCALA}",
    "kafka-clients",
    "commons-pool2",
)


def coordinate() -> str:
    """The connector's Maven coordinate for the PySpark that is installed."""
    import pyspark

    return f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{pyspark.__version__}"


def connector_settings(jars: Path | None = None) -> dict[str, str]:
    """The settings that bring the connector into a session.

    `jars` is a folder with its four jars; without it BARNABAS_SPARK_JARS may name one, and
    without that they come from Maven. PipelineError names what the folder lacks.
    """
    given = os.environ.get(JARS_VARIABLE)
    folder = jars or (Path(given) if given else None)
    if folder is None:
        return {"spark.jars.packages": coordinate(), "spark.jars.excludes": ",".join(EXCLUDED)}
    found = sorted(folder.glob("*.jar"))
    lacking = [name for name in NEEDED if not any(jar.name.startswith(name) for jar in found)]
    if lacking:
        raise PipelineError(
            f"{folder} lacks {', '.join(f'{name}-….jar' for name in lacking)}: --jars (or "
            f"{JARS_VARIABLE}) names a folder with the jars of {coordinate()}; without it Spark "
            "fetches them from Maven"
        )
    return {"spark.jars": ",".join(str(jar.resolve()) for jar in found)}
