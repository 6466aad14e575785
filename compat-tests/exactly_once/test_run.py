"""One minute of transactions under a nemesis (twenty by `scripts/exactly-once`)."""

from __future__ import annotations

import os
from pathlib import Path

from exactly_once.workload import Plan, run

# Eleven clients and a broker on two cores: enough to see to it that the script works elsewhere.
SECONDS = 60.0 if os.environ.get("CI") else 20.0


def test_a_minute_of_transactions_under_a_nemesis(tmp_path: Path) -> None:
    result = run(Plan(seconds=SECONDS), tmp_path)
    assert result.is_good, str(result)
