"""Replicas that are throttled keep to their rate, and hold nobody up that is in sync."""

import pytest

from barnabas.server.core.clock import ManualClock
from barnabas.server.replication.quotas import UNLIMITED, ReplicationQuota

BROKER_ID = 3
WINDOWS, SECONDS = 11, 1


def quota_of(bytes_per_second: int = 1_000) -> tuple[ReplicationQuota, ManualClock]:
    clock = ManualClock()
    quota = ReplicationQuota(clock)
    quota.configure(BROKER_ID, bytes_per_second, WINDOWS, SECONDS)
    return quota, clock


@pytest.mark.parametrize(
    ("throttled", "applies"),
    [(("*",), True), (("7:3",), True), (("1:3", "7:3"), True), ((), False), (("7:4",), False),
     (("8:3",), False)],
)  # fmt: skip
def test_it_applies_to_the_replicas_that_are_named(
    throttled: tuple[str, ...], applies: bool
) -> None:
    quota, _ = quota_of()
    assert quota.applies(throttled, 7) is applies
    quota.configure(BROKER_ID, UNLIMITED, WINDOWS, SECONDS)
    assert not quota.applies(throttled, 7)


def test_the_rate_is_that_of_the_last_windows() -> None:
    quota, clock = quota_of()
    assert not quota.is_exceeded
    quota.record(1_000)
    assert not quota.is_exceeded
    quota.record(4_000)
    assert quota.is_exceeded, "5,000 bytes in what counts as a second"
    clock.advance("4 seconds")
    assert quota.is_exceeded
    clock.advance("1 second")
    assert not quota.is_exceeded, "5,000 bytes in five seconds"
    quota.record(1)
    assert quota.is_exceeded


def test_what_was_taken_long_ago_is_forgotten() -> None:
    quota, clock = quota_of()
    quota.record(1_000_000)
    clock.advance("10 seconds")
    assert quota.is_exceeded
    clock.advance("1 second")
    assert not quota.is_exceeded
    quota.record(500)
    assert not quota.is_exceeded


def test_a_busy_replica_keeps_to_its_rate_in_the_long_run() -> None:
    quota, clock = quota_of()
    taken = 0
    for _ in range(600):
        if not quota.is_exceeded:
            quota.record(700)
            taken += 700
        clock.advance("100 ms")
    assert 50_000 < taken < 70_000
