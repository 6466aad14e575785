"""Spark's JVM does not outlive whoever started it, and its death is one sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from oracles import require_oracle, require_package

PROGRAM = """
import os, signal, sys
from pathlib import Path
import click
from barnabas.pipeline.options import SparkRun
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch
from barnabas.server.cli.main import Barnabas

nobody = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9"
quick = {
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {nobody}",
    "spark.jars.ivy": sys.argv[1],
}

@click.command()
def job():
    with SparkRun("local[1]", settings=quick).session("job") as spark:
        assert "headers" in read_batch(spark, KafkaCluster("127.0.0.1:1"), topics=["t"]).columns
        query = spark.sql("SELECT java_method('java.lang.Thread', 'sleep', 600000L)")
        print(spark.sparkContext._gateway.proc.pid, flush=True)
        if sys.argv[2:]:
            sys.setprofile(when_it_has_asked)
        query.collect()

def when_it_has_asked(frame, event, called):
    if event == "c_return" and called.__name__ == "sendall":
        if "collectToPython" in frame.f_locals.get("command", ""):
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGINT)

class Group(Barnabas):
    commands_by_name = {"job": ("__main__", "job", "")}

click.command(cls=Group)(lambda: None).main(["job"])
"""
PATIENCE_SECONDS = 240


Job = tuple[subprocess.Popen[bytes], psutil.Process]


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[Job]:
    """A command that is at work in Spark, and its JVM; a folder of jars needs no network."""
    require_package("pyspark")
    jars = require_oracle("jars-spark-4.2.0").resolve()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder / "ivy"), *arguments],
        env=os.environ | {"BARNABAS_SPARK_JARS": str(jars)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield process, psutil.Process(int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()
    assert not (folder / "ivy").exists()


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with running(tmp_path) as made:
        yield made


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """How it ended, and what it said."""
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, said.decode()


def test_ctrl_c_ends_both_quietly(job: Job) -> None:
    process, jvm = job
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "")
    assert not jvm.is_running()


def test_ctrl_c_between_a_question_and_its_answer_ends_both_quietly(tmp_path: Path) -> None:
    """There PySpark's own handler waits for the answer, which comes when the job is done."""
    with running(tmp_path, "interrupted when it has asked") as (process, jvm):
        assert ended(process) == (130, "")
        assert not jvm.is_running()


def test_kill_9_ends_both(job: Job) -> None:
    process, jvm = job
    process.kill()
    ended(process)
    jvm.wait(PATIENCE_SECONDS)


def test_a_jvm_that_is_killed_is_one_sentence(job: Job) -> None:
    process, jvm = job
    jvm.kill()
    assert ended(process) == (
        1,
        "barnabas: Spark's JVM has ended in the middle of it (killed, or "
        "out of memory); run it again\n",
    )
