"""A world for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .coordinator_world import World as CoordinatorWorld
from .world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A broker's partitions, with one of __consumer_offsets."""
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def coordinated(tmp_path: Path) -> Iterator[CoordinatorWorld]:
    """A coordinator that leads the one partition of __transaction_state."""
    made = CoordinatorWorld(tmp_path)
    yield made
    made.close()
