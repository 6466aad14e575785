"""A real Prometheus on one broker, and promtool."""

from __future__ import annotations

import json
import math
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from deployment_parts import FILES
from kafka_server import free_ports
from oracles import require_oracle, stop

SCRAPE_S = 1
READY_S = 60.0


def promtool(*arguments: str) -> str:
    """What promtool prints; it must be content."""
    program = require_oracle("prometheus") / "usr" / "bin" / "promtool"
    done = subprocess.run(
        [str(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


class Prometheus:
    """One that runs."""

    def __init__(self, url: str) -> None:
        self._url = url

    def get(self, path: str, **query: str) -> Any:
        """The data of an answer. Raises OSError."""
        address = f"{self._url}/api/v1/{path}?{urlencode(query)}"
        with urllib.request.urlopen(address, timeout=30) as answer:
            return json.load(answer)["data"]

    def has_data(self, expression: str) -> bool:
        """Whether an expression has a value now that is a number."""
        found = self.get("query", query=expression)["result"]
        return any(not math.isnan(float(each["value"][1])) for each in found)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_S
        while True:
            try:
                return self.get("query", query="1") and None
            except OSError:
                assert time.monotonic() < deadline, "Prometheus is not ready"
                time.sleep(0.1)


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    """Prometheus with the alerts, scraping `target` every second."""
    program = require_oracle("prometheus") / "usr" / "bin" / "prometheus"
    config = (FILES / "prometheus.yml").read_text()
    config = config.replace("barnabas:9464", target).replace("15s", f"{SCRAPE_S}s")
    config = config.replace("- alerts.yml", f"- {FILES / 'alerts.yml'}")
    config = config.replace("global:", f"global:\n  evaluation_interval: {SCRAPE_S}s")
    (folder / "prometheus.yml").write_text(config)
    (port,) = free_ports(1)
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [
                str(program),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        running = Prometheus(f"http://127.0.0.1:{port}")
        running.wait_until_ready()
        yield running
    finally:
        stop(process)
