"""Writes down what one process does, so that nothing is lost when it is killed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Recorder:
    """Appends events to a file, each by one write: the kernel keeps what a killed process wrote."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def note(self, event: str, **fields: Any) -> None:
        """One event, at this moment."""
        line = {"e": event, "at": time.monotonic_ns(), **fields}
        os.write(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")
