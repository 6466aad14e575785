"""Running `barnabas log` in this process, and what it printed."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from barnabas.server.cli.main import main

Row = dict[str, Any]


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    errors: str

    @property
    def rows(self) -> list[Row]:
        """The JSON object of each line."""
        return [json.loads(line) for line in self.output.splitlines()]


def run_log(*arguments: str | Path) -> Ran:
    """Run `barnabas log …`: through `main`, for Click keeps the help option a command once had."""
    result = CliRunner().invoke(main, ["log", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Ran(result.exit_code, result.stdout, result.stderr)


def data_directories(root: Path) -> list[Path]:
    """The data directories of an unpacked golden case: itself, or one for each broker."""
    brokers = sorted(root.glob("b[0-9]"))
    return brokers or [root]
