"""One minute of the soak (`group_soak.py`; ten by `scripts/soak`), and one with a killed broker."""

from __future__ import annotations

import os

import pytest
from group_soak import Plan, soak

# Twelve clients and a broker on two cores: enough to see to it that the script works elsewhere.
SECONDS = 60.0 if os.environ.get("CI") else 20.0


@pytest.mark.parametrize("kill_broker", [False, True], ids=["", "broker killed"])
def test_a_minute_of_the_soak(kill_broker: bool) -> None:
    report = soak(Plan(seconds=SECONDS, kill_broker=kill_broker))
    assert report.records > 0
    assert report.killed + report.left + report.added > 0
    assert report.broker_killed == int(kill_broker)
