"""What the demo types, and where it refuses to; compat-tests/pipeline runs it whole."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from barnabas.pipeline.cli import COMMANDS
from barnabas.pipeline.demo import command as demo_command
from barnabas.pipeline.demo import comparing
from barnabas.pipeline.options import SparkRun
from barnabas.server.cli.failures import Failure

EQUAL = (5, 5, 0)


class Jobs:
    """Takes the place of the jobs: notes what is typed, and ends as it is told."""

    def __init__(self, codes: dict[str, list[int]]) -> None:
        self.typed: list[list[str]] = []
        self._codes = codes

    def named(self, name: str) -> Callable[[list[str]], Any]:
        assert name in COMMANDS

        def run(words: list[str]) -> int:
            self.typed.append([name, *words])
            return self._codes.get(name, []).pop(0) if self._codes.get(name) else 0

        return run


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo's folder with a file of the lake that can be damaged."""
    file = tmp_path / "lake" / "topic=visits" / "date=2026-03-02" / "a.parquet"
    file.parent.mkdir(parents=True)
    file.touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparing, "counts_by_kind", lambda *_: [])
    monkeypatch.setattr(comparing, "compared", lambda *_: EQUAL)
    return file


def played(monkeypatch: pytest.MonkeyPatch, codes: dict[str, list[int]]) -> Jobs:
    jobs = Jobs(codes)
    monkeypatch.setattr(demo_command, "command_named", jobs.named)
    spark: Any = None
    demo_command.Play(spark, SparkRun()).all_acts(1_000)
    return jobs


def test_the_audit_after_the_damage_has_to_find_it(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = played(monkeypatch, {"audit": [0, 0, 1]})
    assert [line[0] for line in jobs.typed] == [
        "generate", "land", "audit", "replay", "land", "audit", "aggregate", "audit",
    ]  # fmt: skip
    assert not lake.exists()


def test_a_job_that_ends_otherwise_ends_the_demo(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Failure, match="audit ended with 1 where 0 was to come"):
        played(monkeypatch, {"audit": [1]})
    with pytest.raises(Failure, match="audit ended with 0 where 1 was to come"):
        played(monkeypatch, {"audit": [0, 0, 0]})


def test_records_that_are_not_equal_end_it(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "compared", lambda *_: (5, 5, 2))
    with pytest.raises(Failure, match=r"2 records of visits\.again are not those of visits"):
        played(monkeypatch, {})


def test_a_folder_that_is_somebodys_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    done = CliRunner().invoke(demo_command.demo, ["--folder", str(tmp_path)])
    assert done.exit_code == 1 and "is not empty" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
