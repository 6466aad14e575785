"""A wheel made by pip where nothing can be compiled: it holds the sources, and runs."""

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from oracles import ROOT


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of what a wheel is built from."""
    folder = tmp_path / "sources"
    for name in ("wire", "storage", "server", "pipeline"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scripts").mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "scripts/importroot"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_without_a_compiler_the_wheel_is_the_sources(sources: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps"]
    subprocess.run(
        [*pip, "--wheel-dir", str(tmp_path), str(sources)],
        env=os.environ | {"CC": "/bin/false", "BARNABAS_COMPILE": ""},
        check=True,
        capture_output=True,
        timeout=500,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        packed.extractall(tmp_path / "installed")
    assert not [name for name in names if name.endswith(".so")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for name in project["tool"]["barnabas"]["compiled"]:
        assert any(each.startswith(f"barnabas/{name.replace('.', '/')}") for each in names), name
    told = subprocess.run(
        [sys.executable, "-P", "-m", "barnabas", "--version"],
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ", interpreted (compiling failed: " in told.stdout and "/bin/false" in told.stdout


def test_the_wheel_of_this_platform_is_fit_for_others() -> None:
    """What `scripts/compiled` has built, and these tests run on: to be uploaded as it is."""
    wheels = list((ROOT / "build" / "wheel").glob("barnabas-*.whl"))
    if not wheels:
        pytest.skip("built by scripts/compiled, which runs these tests in CI")
    (wheel,) = wheels
    scripts = Path(sys.executable).parent
    shown = run(str(scripts / "auditwheel"), "show", str(wheel))
    assert '"manylinux_2_' in shown, shown
    assert "PASSED" in run(str(scripts / "twine"), "check", "--strict", str(wheel))


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
