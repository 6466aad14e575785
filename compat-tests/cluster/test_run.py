"""Two minutes of three brokers under a nemesis (ten by `scripts/nothing-lost`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cluster.nodes import EXPECTED_ERRORS
from cluster.run import Plan, run

OF_TROUBLE = (
    *EXPECTED_ERRORS,
    "lost the office of controller",
    "SessionExpired",
    "ConnectionLoss",
    "No space left on device",
    "a leader answers an error .*code=56",  # KAFKA_STORAGE_ERROR: its disk is full
)
"""What brokers may complain of whose disks are filled, and whose ZooKeeper is killed and paused."""

# Nine clients, three brokers and a ZooKeeper on two cores: enough elsewhere to see that it works.
SECONDS = 120.0 if os.environ.get("CI") else 20.0


@pytest.mark.timeout(900)
@pytest.mark.broker_says(rf"(?s)\A(?!.*Traceback).*(?:{'|'.join(OF_TROUBLE)})", always=False)
def test_nothing_is_lost(tmp_path: Path) -> None:
    result = run(Plan(("barnabas",) * 3, SECONDS), tmp_path)
    assert result.is_good, str(result)
