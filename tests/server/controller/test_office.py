"""The controller makes good what failed, and gives up an office that is another's."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.controller.retried_events import FIRST_PAUSE_MS
from barnabas.server.core.startup import StartFailed
from barnabas.server.registry import bodies, paths
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME, Ensemble
from barnabas.server.registry.znodes.store import ConnectionLoss, Create, Delete
from barnabas.server.settings.config import load_config
from barnabas.server.testing.broker import Broker as InProcess
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.server.admin import create_code, new_topic
from tests.server.cluster.cluster import cluster_of, session_of
from tests.server.controller.test_two_brokers import ask
from tests.server.handlers.test_delete_topics import delete
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce
from tests.server.refusal import Refusal
from tests.server.waiting import eventually, wait_until


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> Refusal:
    return Refusal(monkeypatch)


@pytest.mark.broker_says("the registry could not be written", "an event failed and is tried again")
def test_a_topic_gets_its_leader_though_the_registry_could_not_be_written(
    refusal: Refusal,
) -> None:
    with InProcess() as broker, RawClient(broker.port) as client:
        refusal.next("/brokers/topics/t/partitions", 3)
        assert create_code(client, new_topic("t", 2)) == 0
        assert refusal.times == 0
        assert produce(client, "t", make_batch(b"x")).error_code == 0


@pytest.mark.broker_says("the registry could not be written", "an event failed and is tried again")
def test_a_topic_is_deleted_though_the_registry_could_not_be_written(refusal: Refusal) -> None:
    with InProcess() as broker, RawClient(broker.port) as client:
        broker.create_topic("t")
        refusal.next("/brokers/topics/t", 3)
        assert delete(client, "t") == [("t", 0)]
        wait_until(lambda: create_code(client, new_topic("t")) == 0)
        assert produce(client, "t", make_batch(b"x")).error_code == 0


@pytest.mark.broker_says("an event failed and is tried again")
def test_a_deletion_whose_answer_was_lost_spares_the_next_topic_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with one_broker(tmp_path) as (broker, _):
            topics, answers_lost = broker.registry.topics, 0
            delete = topics.delete

            async def once_without_an_answer(name: str, epoch: ControllerEpoch) -> None:
                nonlocal answers_lost
                await delete(name, epoch)
                if not answers_lost:
                    answers_lost += 1
                    raise ConnectionLoss(paths.TOPICS)

            monkeypatch.setattr(topics, "delete", once_without_an_answer)
            await broker.topics.create("t", {0: [broker.broker_id]}, {})
            await eventually(lambda: "t" in broker.metadata.topics)
            await broker.topics.mark_for_deletion("t")
            await eventually(lambda: answers_lost == 1)
            next_id = await broker.topics.create("t", {0: [broker.broker_id]}, {})
            await eventually(lambda: "t" in broker.metadata.topics)
            broker.clock.advance(FIRST_PAUSE_MS)
            await broker.topics.create("after", {0: [broker.broker_id]}, {})
            await eventually(lambda: "after" in broker.metadata.topics)
            assert broker.metadata.topics["t"].topic_id == next_id
            assert sorted(await topics.names()) == ["after", "t"]

    asyncio.run(scene())


@pytest.mark.broker_says("an event failed and is tried again", "neither led nor followed")
def test_a_topic_that_fails_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    with InProcess() as broker, RawClient(broker.port) as client:
        hosting = broker.server.hosting
        takes, failures = hosting.lead_or_follow, [OSError("no"), ValueError("a bug")]
        is_other_served = False

        async def maybe(topic: Any) -> Any:
            if topic.name == "a" and not is_other_served:
                raise failures[-1]
            if topic.name == "a" and failures:
                raise failures.pop()
            return await takes(topic)

        monkeypatch.setattr(hosting, "lead_or_follow", maybe)
        for name in ("a", "b"):
            assert create_code(client, new_topic(name)) == 0
        assert produce(client, "b", make_batch(b"x")).error_code == 0
        is_other_served = True
        wait_until(lambda: produce(client, "a", make_batch(b"x")).error_code == 0)
        assert not failures


@pytest.mark.broker_says("the registry could not be written")
@pytest.mark.parametrize(
    "path", ["/config/topics/t", "/brokers/topics/t", "/admin/delete_topics/old"]
)
def test_a_client_is_told_that_the_registry_cannot_be_written(refusal: Refusal, path: str) -> None:
    with InProcess() as broker, RawClient(broker.port) as client:
        broker.create_topic("old")
        refusal.next(path, 1)
        if "delete" in path:
            assert delete(client, "old") == [("old", ErrorCode.KAFKA_STORAGE_ERROR)]
        else:
            code = create_code(client, new_topic("t"))
            assert code == ErrorCode.KAFKA_STORAGE_ERROR
            assert create_code(client, new_topic("t")) == 0


@pytest.mark.broker_says("the registry could not be written")
def test_a_start_without_a_registry_fails_with_one_sentence(
    tmp_path: Path, refusal: Refusal
) -> None:
    refusal.next("/", 1_000)
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}

    async def start() -> None:
        await Broker(load_config((), settings)).start()

    with pytest.raises(StartFailed, match=r"^the registry .*[^\n]*$"):
        asyncio.run(start())


@pytest.mark.broker_says("the registry could not be written")
def test_a_start_after_a_crash_whose_leavings_cannot_be_removed_fails_with_one_sentence(
    tmp_path: Path, refusal: Refusal
) -> None:
    with InProcess(data_dir=tmp_path / "live"):
        (tmp_path / "crashed").mkdir()
        for name in (JOURNAL_NAME, "meta.properties"):
            shutil.copy(tmp_path / "live" / name, tmp_path / "crashed")
    refusal.next("/brokers/ids", 1)
    broker = InProcess(data_dir=tmp_path / "crashed")
    with pytest.raises(StartFailed, match=r"^the registry cannot be opened: [^\n]*$"):
        broker.start()
    with broker:
        assert broker.create_topic("t") == "t"


@contextlib.asynccontextmanager
async def one_broker(folder: Path) -> AsyncIterator[tuple[Broker, Ensemble]]:
    """A broker, and the ensemble that it shares with whoever else wants to be controller."""
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(folder)}
    config = load_config((), settings)
    ensemble = Ensemble(lambda: 1_700_000_000_000)
    broker = Broker(config, ensemble=ensemble)
    await broker.start()
    try:
        yield broker, ensemble
    finally:
        await broker.stop()
        ensemble.close()


async def usurp(ensemble: Ensemble) -> EmbeddedStore:
    """Become controller in the broker's place: another session, a new epoch."""
    store = ensemble.connect()
    body = bodies.encode_controller(bodies.ControllerBody(99, 0))
    await store.multi([Delete(paths.CONTROLLER), Create(paths.CONTROLLER, body, ephemeral=True)])
    await store.set(paths.CONTROLLER_EPOCH, bodies.encode_number(99))
    return store


@pytest.mark.broker_says("lost the office of controller")
def test_a_controller_that_was_replaced_resigns_and_stands_again(tmp_path: Path) -> None:
    async def scene() -> None:
        async with one_broker(tmp_path) as (broker, ensemble):
            usurper = await usurp(ensemble)
            await broker.topics.create("t", {0: [broker.broker_id]}, {})
            await eventually(lambda: not broker.controller.is_active)
            await eventually(lambda: broker.metadata.controller_id == 99)
            assert "t" not in broker.metadata.topics
            await usurper.close()
            await eventually(lambda: "t" in broker.metadata.topics)
            assert broker.controller.epoch is not None and broker.controller.epoch.epoch == 100
            assert broker.metadata.controller_id == broker.broker_id

    asyncio.run(scene())


@pytest.mark.broker_says("the session with the registry has ended")
def test_a_session_that_ends_takes_the_office_along_and_both_are_won_back(tmp_path: Path) -> None:
    async def scene() -> None:
        async with one_broker(tmp_path) as (broker, ensemble):
            await broker.topics.create("t", {0: [broker.broker_id]}, {})
            await eventually(lambda: "t" in broker.metadata.topics)
            first = broker.controller.epoch
            ensemble.end_session(broker.registry.store.session_id)
            await eventually(
                lambda: broker.controller.is_active and broker.controller.epoch != first
            )
            assert await broker.registry.brokers.ids() == [broker.broker_id]
            await eventually(lambda: broker.metadata.topics["t"].partitions[0].leader_epoch == 1)
            await broker.topics.create("u", {0: [broker.broker_id]}, {})
            await eventually(lambda: "u" in broker.metadata.topics)

    asyncio.run(scene())


@pytest.mark.broker_says("the session with the registry has ended")
def test_a_session_that_ends_while_a_topic_is_deleted_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with one_broker(tmp_path) as (broker, ensemble):
            await broker.topics.create("t", {0: [broker.broker_id]}, {})
            await eventually(lambda: "t" in broker.metadata.topics)
            stops, ends = broker.hosting.stop_replicas, [True]

            async def as_the_session_ends(*replicas: Any) -> Any:
                codes = await stops(*replicas)
                if ends and ends.pop():
                    ensemble.end_session(broker.registry.store.session_id)
                return codes

            monkeypatch.setattr(broker.hosting, "stop_replicas", as_the_session_ends)
            await broker.topics.mark_for_deletion("t")
            await eventually(lambda: broker.controller.is_active and not ends)
            assert await broker.registry.brokers.ids() == [broker.broker_id]
            assert await broker.registry.topics.names() == []

    asyncio.run(scene())


def test_a_controller_that_stops_without_a_connection_leaves_with_its_session(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            broker, other = cluster.brokers[0], Registry(cluster.ensemble.connect())
            session_of(broker).suspend()
            await cluster.stop(broker)
            assert await other.controller.read() is not None, "it could not say goodbye"
            cluster.let_sessions_expire()
            cluster.ensemble.expire_sessions()
            assert await other.controller.read() is None

    asyncio.run(scene())


def test_a_controller_that_stops_as_another_is_elected_stops_in_good_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with one_broker(tmp_path) as (broker, ensemble):
            stop = broker.controller._events.stop

            async def usurped() -> None:
                await stop()
                await usurp(ensemble)

            monkeypatch.setattr(broker.controller._events, "stop", usurped)
            await broker.controller.stop()
            assert not broker.controller.is_active

    asyncio.run(scene())


@pytest.mark.broker_says("an event failed and is tried again")
def test_nothing_is_decided_or_listed_before_it_is_known_how_things_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller that could not read all there is would say that nothing moves, or exists."""

    async def scene() -> None:
        async with one_broker(tmp_path) as (broker, _):
            controller = broker.controller
            learn, can_read = controller.decisions.learn, False
            begun, fails = asyncio.Event(), asyncio.Event()

            async def learn_late() -> None:
                controller.decisions.leading.told.clear()
                begun.set()
                await fails.wait()
                if not can_read:
                    raise ConnectionLoss(paths.TOPICS)
                await learn()

            async def listed() -> int:
                request = ListPartitionReassignmentsRequest(topics=None)
                answer = await ask(broker, lambda client: client.call(request, 0))
                return int(answer.error_code)

            monkeypatch.setattr(controller.decisions, "learn", learn_late)
            controller._has_learned = False
            controller._events.put("stand for election", controller._stand)
            await begun.wait()
            asked = asyncio.create_task(listed())
            await eventually(lambda: not controller._events._queue.empty() or asked.done())
            assert not asked.done()
            fails.set()
            assert await asked == ErrorCode.NOT_CONTROLLER
            can_read = True
            broker.clock.advance(FIRST_PAUSE_MS)
            await eventually(lambda: controller._has_learned)
            assert await listed() == ErrorCode.NONE

    asyncio.run(scene())
