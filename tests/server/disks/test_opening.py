"""While logs are loaded the broker is heard of and can be stopped."""

import asyncio
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cli.start import unless_set
from barnabas.server.core.startup import StartFailed
from barnabas.server.settings.config import load_config
from barnabas.server.testing.broker import Broker as InProcess
from barnabas.server.testing.host import Host
from barnabas.storage.manager.log_manager import LogManager
from tests.server.waiting import PATIENCE_S, eventually


class SlowLoad:
    """Loading that waits to be let on before each log that it opens."""

    def __init__(self) -> None:
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()

    def wait(self, then: Callable[[], None]) -> None:
        self.has_begun.set()
        assert self.may_go_on.wait(PATIENCE_S)
        then()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowLoad]:
    """Every loading is slow from now on."""
    load, opened = SlowLoad(), LogManager.open

    def open_slowly(self: LogManager, *given: Any, **named: Any) -> None:
        for directory in self.directories:
            directory.before_opening = partial(load.wait, directory.before_opening)
        opened(self, *given, **named)

    monkeypatch.setattr(LogManager, "open", open_slowly)
    yield load
    load.may_go_on.set()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data directory with logs in it."""
    with InProcess(data_dir=tmp_path) as broker:
        broker.create_topic("orders", partitions=3)
    return tmp_path


def settings(folder: Path, **more: object) -> dict[str, object]:
    return {
        "log.dirs": folder,
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "barnabas.http.port": 0,
        "barnabas.log.level": "error",
    } | {name.replace("_", "."): value for name, value in more.items()}


async def health(port: int, path: str = "/health") -> tuple[int, str]:
    """Status of a path, and what it says the broker's is."""

    def ask() -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())["status"]
        finally:
            connection.close()

    return await asyncio.to_thread(ask)


def test_health_says_503_until_the_logs_are_loaded(folder: Path, slow: SlowLoad) -> None:
    async def run() -> None:
        broker = Broker(load_config(overrides=settings(folder)))
        starting = asyncio.create_task(broker.start())
        await eventually(slow.has_begun.is_set)
        assert broker.http is not None
        port = broker.http.port
        for path in ("/health", "/healthz", "/readyz"):
            assert await health(port, path) == (503, "starting")
        assert await health(port, "/livez") == (200, "alive")
        slow.may_go_on.set()
        await starting
        for path in ("/health", "/healthz", "/readyz"):
            assert await health(port, path) == (200, "ok")
        await broker.stop()

    asyncio.run(run())


def test_so_does_the_control(folder: Path, slow: SlowLoad) -> None:
    async def run() -> None:
        wanted = settings(folder, barnabas_http_control=True)
        host = Host(lambda pinned: load_config(overrides={**wanted, **pinned}))
        opening = asyncio.create_task(host.open())
        await eventually(slow.has_begun.is_set)
        assert host.http is not None
        assert await health(host.http.port) == (503, "starting")
        slow.may_go_on.set()
        await opening
        assert await health(host.http.port) == (200, "ok")
        await host.stop()
        assert await health(host.http.port) == (503, "stopped")
        await host.close()

    asyncio.run(run())


def test_a_stop_while_logs_are_loaded_waits_for_one_of_them(folder: Path, slow: SlowLoad) -> None:
    async def run() -> None:
        broker, stopping = Broker(load_config(overrides=settings(folder))), asyncio.Event()
        starting = asyncio.create_task(unless_set(stopping, broker.start()))
        await eventually(slow.has_begun.is_set)
        stopping.set()
        await eventually(lambda: broker.disks.is_given_up)
        slow.may_go_on.set()
        assert not await starting
        assert len(list(broker.disks)) == 0

    asyncio.run(run())
    with InProcess(data_dir=folder) as again:
        assert again.ask("GET", "/control/broker")["running"]


def test_a_start_that_fails_before_it_is_to_stop_says_why(folder: Path) -> None:
    async def run() -> None:
        broker = Broker(load_config(overrides=settings(folder)))
        with pytest.raises(StartFailed, match=r"`log\.dirs`"):
            await unless_set(asyncio.Event(), broker.start())

    with InProcess(data_dir=folder):
        asyncio.run(run())
