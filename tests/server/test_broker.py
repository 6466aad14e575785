"""A broker that cannot do its job says why in one sentence, and leaves nothing behind."""

import asyncio
import io
import socket
import threading
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.core.startup import StartFailed
from barnabas.server.observing.logs import Logs
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.znodes.store import StoreFailed
from barnabas.server.settings.config import load_config
from barnabas.server.testing.broker import Broker as InProcess
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until


def start(folder: Path, **settings: str) -> str:
    """Why the broker did not start."""
    wanted = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(folder)}
    wanted |= {name.replace("_", "."): value for name, value in settings.items()}

    async def run() -> None:
        await Broker(load_config((), wanted)).start()

    with pytest.raises(StartFailed) as failure:
        asyncio.run(run())
    return str(failure.value)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        reason = start(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in reason and "`listeners`" in reason


def test_a_data_directory_that_is_in_use(tmp_path: Path) -> None:
    with InProcess(data_dir=tmp_path):
        assert "`log.dirs`" in start(tmp_path)


def test_a_data_directory_of_another_broker(tmp_path: Path) -> None:
    with InProcess(data_dir=tmp_path):
        pass
    reason = start(tmp_path, broker_id="7")
    assert "meta.properties" in reason or "broker" in reason


@pytest.mark.parametrize("content", [b"", b"\xff\x00junk\n", b"version=9\n"])
def test_a_data_directory_whose_identity_is_damaged(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_bytes(content)
    assert "meta.properties is damaged" in start(tmp_path)


def test_a_start_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        start(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    with InProcess(data_dir=tmp_path) as broker:
        assert broker.create_topic("t") == "t"


def test_a_registry_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "registry.journal").write_bytes(b"no journal at all")
    assert "registry.journal is damaged at byte 0" in start(tmp_path)
    assert "registry.journal is damaged at byte 0" in start(tmp_path)


def test_a_start_that_failed_leaves_the_logs_as_clean_as_it_found_them(tmp_path: Path) -> None:
    with InProcess(data_dir=tmp_path) as broker:
        broker.create_topic("t")
    marker = tmp_path / ".kafka_cleanshutdown"
    assert marker.exists()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        start(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{taken.getsockname()[1]}")
    assert marker.exists()
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=7\n")
    start(tmp_path, broker_id="8")
    marker.unlink()
    start(tmp_path, broker_id="8")
    assert not marker.exists()


def test_a_part_that_fails_keeps_no_other_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
        logged = io.StringIO()
        broker = Broker(load_config((), settings), logs=Logs("error", logged))
        await broker.start()

        async def fails(_: ControllerEpoch) -> None:
            raise StoreFailed("/controller")

        monkeypatch.setattr(broker.registry.controller, "resign", fails)
        with pytest.raises(StoreFailed):
            await broker.stop()
        assert "StoreFailed" in logged.getvalue()

    asyncio.run(run())
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    with InProcess(data_dir=tmp_path) as broker:
        assert broker.create_topic("t") == "t"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (
            {"zookeeper_connect": "127.0.0.1:9", "zookeeper_connection_timeout_ms": "1000"},
            "`zookeeper.connect`",
        ),
        ({"authorizer_class_name": "x.Y"}, "`authorizer.class.name`"),
        (
            {
                "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
                "security_inter_broker_protocol": "SASL_PLAINTEXT",
            },
            "`listeners`",
        ),
    ],
)
def test_what_is_not_built_yet_is_refused(
    tmp_path: Path, settings: dict[str, str], named: str
) -> None:
    assert named in start(tmp_path, **settings)


def test_topics_and_records_outlive_a_restart_and_a_crash(tmp_path: Path) -> None:
    with InProcess(data_dir=tmp_path) as broker:
        broker.create_topic("kept", 3, {"retention.ms": 1234567})
        broker.restart()
        topic = broker.server.metadata.topics["kept"]
        assert [p.leader_id for p in topic.partitions] == [broker.server.broker_id] * 3
        broker.kill()
        broker.start()
        config = broker.run(broker.server.topic_settings.read("kept"))
        assert config.retention_ms == 1234567
        assert broker.server.metadata.topics["kept"].topic_id == topic.topic_id


@pytest.mark.broker_says("a timer failed")
def test_a_sweep_that_fails_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with InProcess() as broker:
        swept = threading.Semaphore(0)

        def sweep(_: float) -> None:
            swept.release()
            raise ValueError("a bug")

        monkeypatch.setattr(broker.server.population, "sweep", sweep)
        for _ in range(3):
            assert swept.acquire(timeout=30)


@pytest.mark.broker_says("a handler failed.*INIT_PRODUCER_ID")
def test_a_request_that_fails_when_its_client_has_left_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with InProcess() as broker:
        begun, gone = threading.Event(), asyncio.Event()

        async def take() -> int:
            begun.set()
            await gone.wait()
            raise ValueError("a bug")

        monkeypatch.setattr(broker.server.producer_ids, "take", take)
        with RawClient(broker.port) as client:
            client.send(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1), 4)
            assert begun.wait(30)
        wait_until(lambda: broker.call(lambda: not broker.server.population.connections))
        broker.call(gone.set)
