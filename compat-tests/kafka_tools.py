"""Apache Kafka's command line tools, run by main class in one JVM per release.

Starting a JVM costs a second, running a tool in a warm one a tenth of that. `ToolRunner.java`
says how; the tools themselves are the jars' own.
"""

from __future__ import annotations

import json
import re
import subprocess
from base64 import b64decode, b64encode
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from client_builds import HERE, built, run_build
from oracles import java_command, require_oracle, stop

SOURCE = HERE / "kafka-tools" / "ToolRunner.java"
RELEASES = ("4.4.0", "3.9.1")
_TOOLS = "org.apache.kafka.tools."
MAIN_CLASSES = MappingProxyType(
    {
        "kafka-topics": _TOOLS + "TopicCommand",
        "kafka-configs": _TOOLS + "ConfigCommand",
        "kafka-get-offsets": _TOOLS + "GetOffsetShell",
        "kafka-console-producer": _TOOLS + "ConsoleProducer",
        "kafka-console-consumer": _TOOLS + "consumer.ConsoleConsumer",
        "kafka-delete-records": _TOOLS + "DeleteRecordsCommand",
        "kafka-log-dirs": _TOOLS + "LogDirsCommand",
        "kafka-producer-perf-test": _TOOLS + "ProducerPerformance",
        "kafka-consumer-groups": _TOOLS + "consumer.group.ConsumerGroupCommand",
        "kafka-transactions": _TOOLS + "TransactionsCommand",
        "kafka-features": _TOOLS + "FeatureCommand",
        "kafka-reassign-partitions": _TOOLS + "reassign.ReassignPartitionsCommand",
        "kafka-leader-election": _TOOLS + "LeaderElectionCommand",
    }
)
OLD_MAIN_CLASSES = MappingProxyType(
    {
        "kafka-configs": "kafka.admin.ConfigCommand",
        "kafka-console-producer": "kafka.tools.ConsoleProducer",
    }
)


@dataclass(frozen=True)
class Outcome:
    """How a tool ended."""

    exit_code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it printed, without empty lines."""
        return [line.strip() for line in self.out.splitlines() if line.strip()]

    def table(self) -> list[dict[str, str]]:
        """Its rows under headings in capitals, as dictionaries, sorted.

        Some tables of 3.9 have lost their line ends: then all is on the heading's line.
        """
        header: list[str] = []
        rows: list[dict[str, str]] = []
        for line in self.lines:
            cells = re.findall(r"COORDINATOR \(ID\)|\S+(?:\s+\(\d+\))?", line)
            if re.match(r"(GROUP|TOPIC)\s", line):
                header = list(takewhile(re.compile(r"[A-Z#][A-Z() -]+").fullmatch, cells))
                cells = cells[len(header) :]
            if header:
                rows += [dict(zip(header, row, strict=False)) for row in _rows(cells, len(header))]
        return sorted(rows, key=lambda row: tuple(row.values()))


def _rows(cells: list[str], width: int) -> list[list[str]]:
    return [cells[start : start + width] for start in range(0, len(cells), width)]


class KafkaTools:
    """The tools of one release, against one broker."""

    def __init__(self, release: str, bootstrap: str) -> None:
        self.release, self.bootstrap = release, bootstrap
        jars = require_oracle(f"jars-{release}")
        classes = built(SOURCE.parent, "classes", [SOURCE.read_text()], _compile)
        command = java_command(jars, "ToolRunner", heap="192m", classes=classes)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def run(self, tool: str, *arguments: str, stdin: str = "") -> Outcome:
        """Run a tool; `--bootstrap-server` is added."""
        return self.run_bare(tool, "--bootstrap-server", self.bootstrap, *arguments, stdin=stdin)

    def run_bare(self, tool: str, *arguments: str, stdin: str = "") -> Outcome:
        """Run a tool with these arguments only."""
        main_class = MAIN_CLASSES[tool]
        if self.release.startswith("3."):
            main_class = OLD_MAIN_CLASSES.get(tool, main_class)
        words = [b64encode(word.encode()).decode() for word in (stdin, main_class, *arguments)]
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(" ".join(words).encode() + b"\n")
        self._process.stdin.flush()
        code, out, err = self._process.stdout.readline().decode().rstrip("\n").split(" ")
        return Outcome(int(code), b64decode(out).decode(), b64decode(err).decode())

    def ok(self, tool: str, *arguments: str, stdin: str = "") -> Outcome:
        """Run a tool that must succeed."""
        outcome = self.run(tool, *arguments, stdin=stdin)
        assert outcome.exit_code == 0, outcome
        return outcome

    def close(self) -> None:
        """End the JVM."""
        stop(self._process)


def _compile(target: Path) -> None:
    run_build(["javac", "-d", str(target), str(SOURCE)])


def plan(folder: Path, topic: str, *replicas: list[int]) -> str:
    """A file for kafka-reassign-partitions: where the partitions of a topic are to be."""
    partitions = [
        {"topic": topic, "partition": index, "replicas": each}
        for index, each in enumerate(replicas)
    ]
    path = folder / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)
