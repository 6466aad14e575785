"""What is loaded when it is first needed is loaded in small steps."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from barnabas.server.testing.broker import Broker
from {module} import {parts} as parts
from barnabas.server.core.loading import load_in_steps

with Broker({{"barnabas.http.port": "0"}}) as broker:
    before = len(sys.modules)
    counts = []
    for _ in load_in_steps(parts):
        counts.append(len(sys.modules) - before)
        before = len(sys.modules)
    {then}
    print(*counts, len(sys.modules) - before)
"""


@pytest.mark.parametrize(
    ("module", "parts", "then", "most"),
    [
        (
            "barnabas.server.groups.commit_parts",
            "COMMIT_PARTS",
            "import barnabas.server.groups.commits",
            3,
        ),
        (
            "barnabas.server.observing.scrape",
            "EXPORTER_PARTS",
            "import prometheus_client, barnabas.server.observing.exposition",
            24,  # small ones: of one library, or of the standard library
        ),
    ],
    ids=["OffsetCommit", "/metrics"],
)
def test_each_step_loads_few_modules_and_nothing_is_left(
    module: str, parts: str, then: str, most: int
) -> None:
    script = SCRIPT.format(module=module, parts=parts, then=then)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    *counts, left = map(int, done.stdout.split())
    assert len(counts) >= 5
    assert max(counts) <= most
    assert left == 0
