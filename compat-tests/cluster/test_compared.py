"""A replica that differs is found in what real brokers' directories hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cluster.result import Result
from cluster.run import compare
from tests.server.cli.log_tools.test_compare import DIVERGENCES, Diverge
from tests.server.cli.log_tools.written import write_log


@pytest.fixture
def replicas(tmp_path: Path) -> list[Path]:
    write_log(tmp_path / "1" / "orders-0")
    return [
        tmp_path / "1",
        *(Path(shutil.copytree(tmp_path / "1", tmp_path / each)) for each in "23"),
    ]


def compared(replicas: list[Path]) -> Result:
    result = Result("test")
    compare(replicas, result)
    return result


def test_equal_replicas_are_good(replicas: list[Path]) -> None:
    result = compared(replicas)
    assert (result.is_good, result.compared["by_segments"]) == (True, 1)


@pytest.mark.parametrize(("diverge", "offset", "_"), DIVERGENCES)
def test_a_diverging_replica_is_found(
    diverge: Diverge, offset: int, _: str, replicas: list[Path]
) -> None:
    diverge(replicas[2])
    result = compared(replicas)
    assert not result.is_good
    assert f"orders-0 at {offset}: " in result.differences[0]


def test_a_missing_replica_is_found(replicas: list[Path]) -> None:
    shutil.rmtree(replicas[1] / "orders-0")
    assert compared(replicas).differences == ["orders-0: a replica is missing"]
    shutil.rmtree(replicas[2] / "orders-0")
    assert compared(replicas).differences == ["1 partitions have one replica"]
