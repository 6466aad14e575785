"""The date of a running broker is set back or forward by a day: no duty stops, nobody expires."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.group_requests import Member
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, make_batch, produce
from tests.server.waiting import wait_until, wait_until_watched

SETTINGS = {
    "log.segment.bytes": "1000",
    "log.segment.delete.delay.ms": "60000",
    "log.retention.check.interval.ms": "60000",
    "log.flush.scheduler.interval.ms": "1000",
}


@pytest.fixture(params=["-1 day", "1 day"], ids=["back", "forward"])
def jumped(request: pytest.FixtureRequest) -> Iterator[Broker]:
    """A broker that has served for a minute when its date was changed."""
    with Broker(SETTINGS) as broker:
        broker.clock.advance("1 minute")
        broker.clock.jump(request.param)
        yield broker


def fill(broker: Broker, topic: str) -> None:
    with RawClient(broker.port) as client:
        for _ in range(8):
            batch = make_batch(b"x" * 600, timestamps=[broker.clock.now_ms()], keys=[b"k"])
            assert produce(client, topic, batch).error_code == 0


def files(broker: Broker, pattern: str) -> list[Path]:
    return list(broker.data_dir.glob(pattern))


def test_segments_are_retained_set_aside_and_unlinked(jumped: Broker) -> None:
    jumped.create_topic("t", settings={"retention.bytes": 1500})
    fill(jumped, "t")
    jumped.clock.advance("61 s")
    assert files(jumped, "t-0/*.deleted")
    jumped.clock.advance("61 s")
    assert not files(jumped, "t-0/*.deleted") and len(files(jumped, "t-0/*.log")) < 8


def test_logs_are_compacted(jumped: Broker) -> None:
    jumped.create_topic("t", settings={"cleanup.policy": "compact"})
    fill(jumped, "t")
    log = next(iter(jumped.server.disks))
    jumped.clock.advance("2 s")  # once the closed segments are flushed
    jumped.clock.advance("15 s")
    wait_until(lambda: jumped.call(lambda: bool(log.data_directory.clean_offsets)))


def test_logs_are_flushed_and_checkpoints_written(jumped: Broker) -> None:
    jumped.create_topic("t", settings={"flush.ms": 10_000})
    fill(jumped, "t")
    log = next(iter(jumped.server.disks))
    jumped.clock.advance("11 s")
    jumped.clock.advance("2 s")  # once the closed segments are flushed
    assert jumped.call(lambda: log.recovery_point) == 8
    jumped.clock.advance("60 s")
    (checkpoint,) = files(jumped, "recovery-point-offset-checkpoint")
    assert "t 0 8" in checkpoint.read_text()


def test_a_deleted_topic_is_removed(jumped: Broker) -> None:
    jumped.create_topic("t")
    fill(jumped, "t")
    jumped.clear()
    assert files(jumped, "t-0.*-delete")
    jumped.clock.advance("62 s")
    assert not files(jumped, "t-0.*-delete")


@pytest.mark.parametrize("jump", ["-1 day", "1 day"], ids=["back", "forward"])
def test_a_member_lives_through_it_and_expires_in_its_time(jump: str) -> None:
    with Broker() as broker, Member(broker, "g", session_timeout_ms=100_000) as member:
        member.settle()
        broker.clock.jump(jump)
        assert member.heartbeat() == 0
        broker.clock.advance("90 s")
        assert member.heartbeat() == 0
        broker.clock.advance("110 s")
        assert member.heartbeat() == 25


@pytest.mark.parametrize("jump", ["-1 day", "1 day"], ids=["back", "forward"])
def test_a_parked_fetch_and_an_idle_connection_stay_and_end_in_their_time(jump: str) -> None:
    with Broker() as broker, RawClient(broker.port) as client, RawClient(broker.port) as idle:
        broker.create_topic("t")
        idle.call(MetadataRequest(topics=[]), 9)
        client.send(fetch_request("t", 0, max_wait_ms=60_000), 11)
        wait_until_watched(broker, "t")
        broker.clock.jump(jump)
        broker.clock.advance("50 s")
        assert broker.call(lambda: len(broker.server.fetches)) == 1
        broker.clock.advance("11 s")
        assert client.receive().error_code == 0
        idle.call(MetadataRequest(topics=[]), 9)
        broker.clock.advance("11 minutes")
        assert idle.is_closed()


def test_the_date_is_what_was_set(jumped: Broker) -> None:
    before_ms = jumped.clock.now_ms()
    jumped.clock.jump(-5_000)
    assert -5_000 <= jumped.clock.now_ms() - before_ms < 0
    for wrong in ("a fortnight", "-1000 weeks 100000 weeks", 1e300):
        with pytest.raises(ValueError, match=r"^clock.jump: "):
            jumped.clock.jump(wrong)
