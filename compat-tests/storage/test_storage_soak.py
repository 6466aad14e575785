"""One minute of the storage soak (`storage_soak.py`; ten by `scripts/soak --storage`)."""

from __future__ import annotations

import os

from storage_soak import soak

SECONDS = 60.0 if os.environ.get("CI") else 20.0


def test_a_minute_of_everything_at_once() -> None:
    report = soak(SECONDS, seed=2)
    assert report.records > 0 and report.read_by_group > 0
    assert report.left_at_the_end["compacted"] > 0
    assert report.events
