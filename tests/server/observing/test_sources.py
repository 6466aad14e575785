"""A real broker, scraped over its HTTP port."""

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.server.broker import Broker
from barnabas.server.settings.config import load_config
from barnabas.server.testing.broker import Broker as ServedBroker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.server.raw_client import RawClient


async def _get(port: int, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = (await asyncio.wait_for(reader.read(), 10)).decode()
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


def _with_broker(folder: Path, scrape: Callable[[Broker, int], Awaitable[None]]) -> None:
    async def run() -> None:
        config = load_config(
            overrides={
                "log.dirs": folder,
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "barnabas.http.port": 0,
                "barnabas.log.level": "error",
            }
        )
        broker = Broker(config)
        await broker.start()
        assert broker.http is not None
        try:
            await scrape(broker, broker.http.port)
        finally:
            await broker.stop()

    asyncio.run(run())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_metrics_hold_kafkas_well_known_names(folder: Path) -> None:
    async def scrape(broker: Broker, port: int) -> None:
        status, text = await _get(port, "/metrics")
        assert status == 200
        families = list(text_string_to_metric_families(text))
        assert len({family.name for family in families}) == len(families)
        samples = {(s.name, *s.labels.values()): s.value for f in families for s in f.samples}
        assert samples[("kafka_controller_kafkacontroller_activecontrollercount",)] == 1
        assert samples[("kafka_server_replicamanager_underreplicatedpartitions",)] == 0
        assert samples[("kafka_server_brokertopicmetrics_messagesin_total",)] == 0
        name = "kafka_server_delayedoperationpurgatory_purgatorysize"
        assert samples[(name, "Fetch")] == 0
        assert samples[("kafka_server_delayedproducemetrics_expires_total",)] == 0

    _with_broker(folder, scrape)


def test_connections_are_shown_by_what_clients_are() -> None:
    with ServedBroker({"barnabas.http.port": 0}) as broker, RawClient(broker.port) as client:
        name, http = "kafka_server_socket_server_metrics_connections", broker.server.http
        assert http is not None

        def shown() -> set[tuple[str, ...]]:
            with urllib.request.urlopen(f"http://127.0.0.1:{http.port}/metrics") as answer:
                families = list(text_string_to_metric_families(answer.read().decode()))
            return {tuple(s.labels.values()) for f in families for s in f.samples if s.name == name}

        client.call(ApiVersionsRequest(), 0)
        assert shown() == {("unknown", "unknown", "PLAINTEXT")}
        request = ApiVersionsRequest(client_software_name="lib", client_software_version="1.2")
        client.call(request, 3)
        assert shown() == {("lib", "1.2", "PLAINTEXT")}


def test_health_tells_who_and_how(folder: Path) -> None:
    async def scrape(broker: Broker, port: int) -> None:
        status, text = await _get(port, "/health")
        assert status == 200
        health = json.loads(text)
        assert health["status"] == "ok"
        assert health["cluster_id"] == broker.metadata.cluster_id
        assert health["controller"] is True
        assert health["offline_partitions"] == 0

    _with_broker(folder, scrape)


def test_without_a_port_nothing_is_served(folder: Path) -> None:
    async def run() -> None:
        config = load_config(overrides={"log.dirs": folder, "barnabas.log.level": "error"})
        broker = Broker(config)
        await broker.start()
        assert broker.http is None
        await broker.stop()

    asyncio.run(run())
