"""A world for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A broker's partitions, with one of __consumer_offsets."""
    made = World(tmp_path)
    yield made
    made.close()
