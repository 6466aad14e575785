"""The source distribution and the wheel made of it: what they hold, what an index would show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from client_builds import built, run_build
from oracles import ROOT

HERE = Path(__file__).resolve().parent
BUILD = "build==1.6.1"
SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `python -m build --sdist` makes of a clean clone."""
    clone = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        place = clone / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            place.write_bytes((ROOT / name).read_bytes())
            place.chmod((ROOT / name).stat().st_mode)
    out = tmp_path_factory.mktemp("sdist")
    run(
        [sys.executable, "-m", "build", "--sdist", "--outdir", str(out), str(clone)],
        PYTHONPATH=str(_build()),
    )
    (made,) = out.glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that pip makes of it."""
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps"]
    run([*pip, "--wheel-dir", str(out), str(sdist)], BARNABAS_COMPILE="0")
    (made,) = out.glob("*.whl")
    return made


def _build() -> Path:
    def install(target: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_build([*pip, "--target", str(target), BUILD])

    return built(HERE, "build", [BUILD], install)


def run(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = [each for each in packed.namelist() if each.endswith(".dist-info/METADATA")]
        return message_from_bytes(packed.read(name))


def test_the_source_distribution_has_the_documents_and_what_a_build_needs(sdist: Path) -> None:
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    documents = {str(each.relative_to(ROOT)) for each in (ROOT / "docs").glob("*.md")}
    examples = {
        "docs/deployment/grafana/dashboard.json",
        "docs/examples/go/barnabas_test.go",
        "docs/examples/orders/tests/test_orders.py",
    }
    assert documents | examples | {*SOURCES, "Dockerfile", "scripts/importroot"} <= names
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]
    assert not [name for name in names if name.startswith((".oracles", ".venv", "build/"))]


def test_the_wheel_has_the_package_alone_and_runs(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        tops = {name.partition("/")[0] for name in packed.namelist()}
        packed.extractall(tmp_path)
    version = metadata_of(wheel)["Version"]
    assert tops == {"barnabas", f"barnabas-{version}.dist-info"}
    assert (tmp_path / "barnabas/py.typed").exists()
    said = run([sys.executable, "-P", "-m", "barnabas", "--version"], PYTHONPATH=str(tmp_path))
    assert said.startswith(f"barnabas {version}, interpreted")


def test_an_index_shows_whose_it_is_and_links_that_lead_somewhere(wheel: Path) -> None:
    metadata = metadata_of(wheel)
    urls = dict(each.split(", ") for each in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
    text = metadata.get_payload()
    assert isinstance(text, str)
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    base = f"{urls['Source']}/blob/main/"
    for link in links:
        assert link.startswith(base), link
        assert (ROOT / link.removeprefix(base)).exists(), link
    assert len(metadata.get_all("Classifier", [])) > 15
    assert "pytest" in metadata["Keywords"].split(",")
    assert metadata["License-Expression"] == "Apache-2.0"


def test_both_are_fit_for_an_upload(sdist: Path, wheel: Path) -> None:
    twine = Path(sys.executable).parent / "twine"
    assert run([str(twine), "check", "--strict", str(sdist), str(wheel)]).count("PASSED") == 2
