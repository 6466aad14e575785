"""Change notifications: numbers, reading on, purging, and the controller's taking away."""

import pytest

from barnabas.server.registry import notices
from barnabas.server.registry.changes import PURGE_AFTER_MS, Changes
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.znodes.ensemble import Ensemble
from tests.server.registry.test_topics import ruling
from tests.server.registry.worlds import FIRST_MS, Heard


async def test_the_parent_is_made_when_it_is_missing() -> None:
    changes = Changes(Ensemble(lambda: FIRST_MS).connect(), "/a/changes", "change_")
    assert await changes.add(b"first") == 0
    assert await changes.add(b"second") == 1
    assert [n.body for n in await changes.read_new()] == [b"first", b"second"]


async def test_reading_goes_on_behind_the_last() -> None:
    store = Ensemble(lambda: FIRST_MS).connect()
    writer, reader = (Changes(store, "/c", "change_") for _ in range(2))
    heard = Heard()
    await writer.add(b"0")
    await store.create("/c/change_0000000009", b"9")
    assert [n.number for n in await reader.read_new(heard.watch)] == [0, 9]
    await store.create("/c/change_0000000010", b"10")
    await store.create("/c/change_0000000005", b"late")
    assert [n.number for n in await reader.read_new()] == [10]
    assert [n.number for n in await reader.read_all()] == [0, 5, 9, 10]
    assert len(heard.events) == 1


async def test_old_notifications_are_purged() -> None:
    now_ms = FIRST_MS
    store = Ensemble(lambda: now_ms).connect()
    changes = Changes(store, "/c", "change_")
    await changes.add(b"old")
    now_ms += 1000
    await changes.add(b"young")
    await changes.purge(FIRST_MS + PURGE_AFTER_MS)
    assert [n.body for n in await changes.read_all()] == [b"old", b"young"]
    await changes.purge(FIRST_MS + PURGE_AFTER_MS + 1)
    assert [n.body for n in await changes.read_all()] == [b"young"]


async def test_the_controller_takes_away_what_it_has_read() -> None:
    epoch, (one, two) = await ruling(2)
    await two.isr_changes.add(notices.encode_partitions([("t1", 0)]))
    await two.isr_changes.add(notices.encode_partitions([("t1", 1)]))
    numbers = [n.number for n in await one.isr_changes.read_all()]
    await one.isr_changes.delete([*numbers, 7], epoch)
    assert await one.store.children("/isr_change_notification") == []
    await two.log_dir_events.add(notices.encode_log_dir_event(2))
    assert await one.store.children("/log_dir_event_notification") == ["log_dir_event_0000000000"]
    await one.controller.resign(epoch)
    await two.controller.elect(2, 2)
    with pytest.raises(ControllerMoved):
        await one.log_dir_events.delete([0], epoch)
