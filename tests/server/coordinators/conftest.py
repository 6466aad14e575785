"""A coordinator of counters for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .counters import CounterWorld


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CounterWorld]:
    """One that leads the one partition of its topic."""
    made = CounterWorld(tmp_path)
    yield made
    made.close()
