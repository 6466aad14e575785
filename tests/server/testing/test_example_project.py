"""The example in docs/examples, used as a stranger would: its own folder, its own pytest."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "orders"


@pytest.mark.parametrize("where", [(), ("--barnabas-process",)], ids=["thread", "process"])
def test_the_example_passes_in_parallel_and_leaves_nothing_behind(
    where: tuple[str, ...], tmp_path: Path
) -> None:
    pytest.importorskip("confluent_kafka")
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *where],
        cwd=EXAMPLE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "8 passed" in done.stdout
    assert "warning" not in done.stdout
    left = [each.name for each in tmp_path.iterdir() if not each.name.startswith("pytest-")]
    assert left == [], f"left in {tempfile.gettempdir()}: {left}"
