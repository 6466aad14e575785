"""The one way to a SparkSession with the Kafka connector.

The JVM is started here rather than by PySpark, so that what it prints goes to a file without a
name: a terminal and a notebook stay quiet, and what it said is there when it does not start. A
session in the process already, a notebook's for instance, is used as it is.
"""

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import IO, TYPE_CHECKING, Any

from barnabas.pipeline.spark.connector import connector_settings
from barnabas.pipeline.spark.failures import PipelineError, one_line
from barnabas.pipeline.spark.java import java_home

if TYPE_CHECKING:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

SAID_BYTES = 100_000
STOP_TIMEOUT_S = 30.0
ALWAYS = {
    # A date of a record is the same wherever the driver stands.
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "false",
    # A pool of more partitions than this is torn down and made again at every batch.
    "spark.kafka.consumer.cache.capacity": "512",
}
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Two hundred partitions of a shuffle are for a cluster.
    "spark.sql.shuffle.partitions": "8",
}


def spark_session(
    name: str,
    *,
    master: str = "local[*]",
    jars: Path | None = None,
    settings: Mapping[str, str] | None = None,
    verbose: bool = False,
) -> "SparkSession":
    """A session with the Kafka connector; end it with `stop_session`.

    `jars` is a folder with the connector's jars (default: $BARNABAS_SPARK_JARS, else Maven);
    `settings` are Spark's and win over ours; `verbose` leaves Spark's warnings on the standard
    error. PipelineError says in one sentence why there is no session.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        return active
    conf = _conf(name, master, jars, dict(settings or {}), verbose=verbose)
    if not SparkContext._gateway:
        _launch(conf, verbose=verbose)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _conf(
    name: str, master: str, jars: Path | None, settings: dict[str, str], *, verbose: bool
) -> "SparkConf":
    from pyspark import SparkConf

    known = ALWAYS | (LOCAL if master.startswith("local") else {})
    known["spark.log.level"] = "WARN" if verbose else "ERROR"
    if not {"spark.jars", "spark.jars.packages"} & settings.keys():
        known |= connector_settings(jars)
    conf = SparkConf(loadDefaults=False)
    for key, value in (known | settings).items():
        conf.set(key, value)
    return conf.setMaster(master).setAppName(f"barnabas {name}")


# --- the JVM ---------------------------------------------------------------------------------

_said: IO[bytes] | None = None


def _launch(conf: "SparkConf", *, verbose: bool) -> None:
    """Start the JVM and give it to PySpark; it ends with this process, however that ends."""
    global _said
    from pyspark import SparkContext
    from pyspark.errors import PySparkRuntimeError

    _forget_what_was_said()
    _said = tempfile.TemporaryFile("ab+")
    streams: dict[str, Any] = {} if verbose else {"stderr": _said, "stdout": _said}
    gateways = import_module("pyspark.java_gateway")
    with _environment(conf), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        try:
            gateway = gateways.launch_gateway(conf, streams)
        except (PySparkRuntimeError, OSError) as error:
            raise PipelineError(why_java_ended(said())) from error
    SparkContext._gateway = gateway
    SparkContext._jvm = gateway.jvm


@contextmanager
def _environment(conf: "SparkConf") -> Iterator[None]:
    """What the launcher and PySpark read from the environment, for the length of a block."""
    wanted = {"JAVA_HOME": str(java_home())}
    if str(conf.get("spark.master")).startswith("local"):
        wanted["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    # Python workers are this interpreter, which has the packages that a job's functions import;
    # PySpark looks at this whenever it sends one out. On a cluster the name is the cluster's.
    if "SPARK_LOCAL_IP" in wanted:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def said() -> str:
    """The last of what the JVM has printed."""
    if _said is None:
        return ""
    size = os.fstat(_said.fileno()).st_size
    # Positioned: the JVM has the same file position as we do.
    return os.pread(_said.fileno(), SAID_BYTES, max(size - SAID_BYTES, 0)).decode(errors="replace")


def why_java_ended(text: str) -> str:
    """One sentence from what a JVM printed that ended before it was ready."""
    if "unresolved dependency" in text or "Server access error" in text:
        return (
            "Spark's Kafka connector is not to be had from Maven: --jars (or BARNABAS_SPARK_JARS) "
            "names a folder that has it, --spark-setting spark.jars.repositories=URL a mirror"
        )
    if "UnsupportedClassVersionError" in text:
        return "the Java that was found is too old for Spark; JAVA_HOME names another one"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line or "xception" in line] or lines
    reason = one_line(telling[0]) if telling else "it printed nothing"
    return f"Spark's JVM ended before it was ready: {reason}; --verbose shows all of it"


def stop_session(spark: "SparkSession") -> None:
    """Stop the session and end its JVM: nothing of it is left."""
    from pyspark import SparkContext

    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a JVM that has ended cannot be stopped
        spark.stop()
    gateway, SparkContext._gateway, SparkContext._jvm = SparkContext._gateway, None, None
    process = getattr(gateway, "proc", None)
    if gateway is not None and process is not None:
        with suppress(Exception):
            gateway.shutdown()
        process.stdin.close()
        _wait_for(process)
    _forget_what_was_said()


def _wait_for(process: "Popen[bytes]") -> None:
    try:
        process.wait(STOP_TIMEOUT_S)
    except TimeoutExpired:
        process.kill()
        process.wait()


def _forget_what_was_said() -> None:
    global _said
    if _said is not None:
        _said.close()
    _said = None


@contextmanager
def running_session(name: str, **options: Any) -> Iterator["SparkSession"]:
    """`spark_session` for the length of a block; a session that was there before stays."""
    from pyspark.sql import SparkSession

    ours = SparkSession.getActiveSession() is None
    spark = spark_session(name, **options)
    try:
        yield spark
    finally:
        if ours:
            stop_session(spark)
