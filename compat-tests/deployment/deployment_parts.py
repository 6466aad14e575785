"""Where the files of docs/deployment.md are, and ports for what they start."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

from oracles import ROOT

HERE = Path(__file__).resolve().parent
FILES = ROOT / "docs" / "deployment"


def own_ports(count: int) -> list[int]:
    """Ports that are free now."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in taken]
