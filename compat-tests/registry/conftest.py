"""Coroutine tests run in a loop of their own; one ZooKeeper serves a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from zookeeper_homes import Home
from zookeeper_worlds import zookeeper_server

from barnabas.server.testing.zookeeper import ZookeeperServer
from tests.server.registry.conftest import run_coroutine

DEADLINE_SECONDS = 300  # a JVM starts up to three times in a test, on a busy machine


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_coroutine(pyfuncitem, DEADLINE_SECONDS)


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZookeeperServer]:
    """A server for all tests of a module, which leave it running."""
    with zookeeper_server(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def home(zookeeper: ZookeeperServer, tmp_path: Path) -> Home:
    return Home(zookeeper, tmp_path)
