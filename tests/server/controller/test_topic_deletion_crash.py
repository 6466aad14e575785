"""A topic's deletion that a crash cuts short anywhere leaves its name as good as new.

The broker is stopped before its n-th write to the registry or renaming of a directory, for every
n that there is, and nothing reaches the disk from then on, as if the process had been killed.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import StoreFailed
from barnabas.server.testing.broker import Broker
from barnabas.storage.disk.fs import REAL
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from tests.server.admin import create_code, new_topic
from tests.server.group_requests import commit, find_coordinator, offsets
from tests.server.raw_client import RawClient
from tests.server.records import LATEST, data_of, list_offset, make_batch, produce, read
from tests.server.waiting import wait_until

PARTITIONS = 2


class Bomb:
    """Lets so many more steps reach the disk, then none."""

    def __init__(self) -> None:
        self.steps_left = float("inf")
        self.went_off = threading.Event()

    def defuse(self) -> None:
        """Let everything through again: a new process."""
        self.steps_left = float("inf")
        self.went_off.clear()

    def step(self, work: Callable[..., Any], failure: Exception) -> Callable[..., Any]:
        """The work as one step; whoever wants more of it after the end meets the failure."""

        def maybe(*arguments: Any) -> Any:
            if self.steps_left <= 0:
                self.went_off.set()
                raise failure
            self.steps_left -= 1
            return work(*arguments)

        return maybe


@pytest.fixture
def bomb(monkeypatch: pytest.MonkeyPatch) -> Bomb:
    made = Bomb()
    monkeypatch.setattr(Ensemble, "commit", made.step(Ensemble.commit, StoreFailed("/")))
    monkeypatch.setattr(REAL, "rename", made.step(REAL.rename, OSError("killed")))
    return made


def start_deletion(broker: Broker, bomb: Bomb, steps: int) -> bool:
    """Delete the topic up to a step; whether it was cut short there."""
    bomb.steps_left = steps
    with RawClient(broker.port) as client:
        client.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 5)
        metadata = broker.server.metadata
        marks = "/admin/delete_topics"
        store = broker.server.registry.store

        def is_gone() -> bool:
            # In this order: the mark is made before the topic goes, and removed after it.
            return "t" not in metadata.topics and not broker.run(store.children(marks))

        wait_until(lambda: bomb.went_off.is_set() or is_gone())
    return bomb.went_off.is_set()


def check_the_name_is_good(broker: Broker) -> None:
    """Create the topic, anew if it is still there; it is empty, takes records and gives them.

    Nor does a group take its committed offset of the old topic for one of the new.
    """
    with RawClient(broker.port) as client:
        code = create_code(client, new_topic("t", PARTITIONS))
        if code == ErrorCode.TOPIC_ALREADY_EXISTS:
            client.call(DeleteTopicsRequest(topic_names=["t"], timeout_ms=10_000), 5)
            code = create_code(client, new_topic("t", PARTITIONS))
        assert code == 0
        for partition in range(PARTITIONS):
            assert list_offset(client, "t", LATEST, partition=partition).offset == 0
            assert produce(client, "t", make_batch(b"new"), partition=partition).error_code == 0
            assert b"new" in data_of(read(client, "t", partition=partition))
        loading = int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        wait_until(lambda: committed(client)[2] != loading)
        assert committed(client)[0] == -1


def committed(client: RawClient) -> tuple[int, str | None, int]:
    """The group's offset of the topic, its metadata and error code."""
    return offsets(client, "g", "t", 0, version=5)["t", 0]


@pytest.mark.broker_says("killed", "an event failed and is tried again")
def test_a_crash_at_any_step_of_a_deletion(tmp_path: Path, bomb: Bomb) -> None:
    steps, was_cut_short = 0, True
    while was_cut_short:
        with Broker(data_dir=tmp_path / str(steps)) as broker:
            broker.create_topic("t", PARTITIONS)
            with RawClient(broker.port) as client:
                for partition in range(PARTITIONS):
                    produce(client, "t", make_batch(b"old"), partition=partition)
                find_coordinator(client, "g")
                wait_until(lambda: commit(client, "g", "t", 1) == [0])
            was_cut_short = start_deletion(broker, bomb, steps)
            broker.kill()
            bomb.defuse()
            broker.start()
            check_the_name_is_good(broker)
        steps += 1
    assert steps >= 4
