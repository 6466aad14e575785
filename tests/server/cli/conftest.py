"""Commands run in this process against the file's broker."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from barnabas.server.cli.main import main
from barnabas.server.testing.broker import Broker


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    def is_one_sentence(self) -> bool:
        return self.stdout == "" and self.stderr.count("\n") == 1


Run = Callable[..., Outcome]


@pytest.fixture
def run(broker: Broker) -> Run:
    """Run a command in this process."""
    return run_at(broker.bootstrap_servers)


def run_at(bootstrap: str) -> Run:
    """What runs a command in this process, for a broker at an address."""

    def invoke(*arguments: str, stdin: str | bytes = "") -> Outcome:
        runner = CliRunner(env={"BARNABAS_BOOTSTRAP": bootstrap})
        result = runner.invoke(main, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Outcome(result.exit_code, result.stdout, result.stderr)

    return invoke
