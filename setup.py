"""Compiles the hot modules of a broker to machine code (mypyc) when a wheel is built.

The sources stay what they are: typed Python that runs as it is in a checkout and where there is no
C compiler; a small request then costs two thirds more. BARNABAS_COMPILE=0 leaves a build at that;
BARNABAS_COMPILE=1 makes a failure to compile a failure to build. `pip install -e` never compiles.
"""

import os
import platform
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
WANTED = os.environ.get("BARNABAS_COMPILE", "")
REASON = "uncompiled.txt"
RELATIVE_LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
CAN_COMPILE = platform.python_implementation() == "CPython" and sys.platform != "win32"


class BuildCompiled(build_ext):
    """Builds all the extension modules, or none of them."""

    def run(self) -> None:
        self.extensions: list[Extension] = []
        if self.editable_mode:
            return
        try:
            self._build(self._translate())
        except (Exception, SystemExit) as error:
            if WANTED == "1":
                raise
            print(f"barnabas stays uncompiled: {error!r}", file=sys.stderr)
            # `barnabas --version` shows it, long after pip has hidden what this printed.
            self.mkpath(f"{self.build_lib}/barnabas")
            Path(self.build_lib, "barnabas", REASON).write_text(f"compiling failed: {error}\n")
            for half in Path(self.build_lib).rglob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}"):
                half.unlink()

    def _translate(self) -> list[Extension]:
        """The modules that pyproject.toml names, as C."""
        from mypyc.build import mypycify

        subprocess.run(["scripts/importroot"], cwd=ROOT, check=True)
        extensions: list[Extension] = mypycify(
            [
                # Types were checked by scripts/typecheck; here some dependencies are missing.
                "--config-file=",
                "--ignore-missing-imports",
                "--follow-imports=silent",
                "--cache-dir=build/mypyc/cache",
                *(f"build/importroot/barnabas/{source}" for source in compiled_sources()),
            ],
            opt_level="2",
            debug_level="0",
            group_name="barnabas",
            target_dir="build/mypyc",
        )
        return extensions

    def _build(self, extensions: list[Extension]) -> None:
        """As setuptools does it: a command reads its extensions when it is finalized."""
        self.distribution.ext_modules = extensions
        builder = build_ext(self.distribution)
        builder.ensure_finalized()
        builder.run()
        self.extensions = builder.extensions


def compiled_sources() -> list[str]:
    """What pyproject.toml names, as files: modules, and the modules of folders."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    found = []
    for name in project["tool"]["barnabas"]["compiled"]:
        place = ROOT / name.replace(".", "/")
        files = sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        found += [str(file.relative_to(ROOT)) for file in files if file.name != "__init__.py"]
    return found


def readme() -> str:
    """README.md as a package index shows it, where what it links to is not beside it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = f"{project['urls']['Source']}/blob/main"
    return RELATIVE_LINK.sub(rf"]({base}/\1)", (ROOT / "README.md").read_text())


setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    # One that stands for all: which there are is known once mypyc has run.
    ext_modules=[Extension("barnabas.compiled", [])] if CAN_COMPILE and WANTED != "0" else [],
    cmdclass={"build_ext": BuildCompiled},
)
