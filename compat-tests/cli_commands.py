"""`barnabas` commands against a server, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from kafka_server import ApacheKafka

PATIENCE_SECONDS = 60.0


def barnabas(
    kafka: ApacheKafka,
    *arguments: str,
    stdin: str = "",
    code: int = 0,
    patience_s: float = PATIENCE_SECONDS,
) -> subprocess.CompletedProcess[str]:
    """A command, which ends with that code."""
    outcome = subprocess.run(
        [sys.executable, "-m", "barnabas", *arguments],
        env=os.environ | {"BARNABAS_BOOTSTRAP": kafka.address},
        input=stdin, capture_output=True, text=True, timeout=patience_s,
    )  # fmt: skip
    assert outcome.returncode == code, outcome.stderr
    return outcome


def rows(
    kafka: ApacheKafka, *arguments: str, stdin: str = "", patience_s: float = PATIENCE_SECONDS
) -> list[dict[str, Any]]:
    """What a command prints with --json."""
    printed = barnabas(kafka, *arguments, "--json", stdin=stdin, patience_s=patience_s).stdout
    return [json.loads(line) for line in printed.splitlines()]
