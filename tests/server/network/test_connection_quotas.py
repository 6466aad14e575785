"""How many connections there may be and how fast they come: the counting."""

import pytest

from barnabas.server.network.connection_quotas import (
    UNLIMITED,
    ConnectionQuotas,
    CreationRate,
    Limits,
    ListenerLimits,
)

WINDOWS, WINDOW_MS = 11, 1000


def quotas(
    max_connections: int = UNLIMITED, max_creation_rate: int = UNLIMITED
) -> ConnectionQuotas:
    listeners = {"INSIDE": ListenerLimits(max_connections=3), "OUTSIDE": ListenerLimits()}
    made = Limits(
        1000,
        max_connections,
        max_creation_rate,
        listeners=listeners,
        inter_broker_listener="INSIDE",
    )
    return ConnectionQuotas(made)


def test_the_brokers_limit_holds_for_every_listener_but_the_protected_one() -> None:
    counted = quotas(max_connections=1)
    assert counted.has_room("OUTSIDE")
    counted.add("OUTSIDE", "a")
    assert not counted.has_room("OUTSIDE")
    assert counted.has_room("INSIDE")
    counted.add("INSIDE", "a")
    assert counted.is_exceeded
    counted.remove("OUTSIDE", "a")
    assert not counted.is_exceeded
    assert not counted.has_room("OUTSIDE")


def test_a_listeners_limit_holds_for_the_protected_one_too() -> None:
    counted = quotas()
    for _ in range(3):
        assert counted.has_room("INSIDE")
        counted.add("INSIDE", "a")
    assert not counted.has_room("INSIDE")
    assert counted.has_room("OUTSIDE")


def test_the_only_listener_is_not_protected() -> None:
    limits = Limits(1000, listeners={"A": ListenerLimits()}, inter_broker_listener="A")
    assert not ConnectionQuotas(limits).is_protected("A")


def test_an_address_has_a_limit_of_its_own() -> None:
    limits = Limits(1000, max_connections_per_ip=1, per_ip_overrides={"b": 2})
    counted = ConnectionQuotas(limits)
    for host in ("a", "b"):
        counted.add("A", host)
    assert counted.refusal("a") == "max.connections.per.ip=1 is reached for a"
    assert counted.refusal("b") is None
    counted.remove("A", "a")
    assert counted.refusal("a") is None


def test_ten_seconds_worth_may_come_at_once_and_then_one_after_the_other() -> None:
    rate = CreationRate()
    delays = [rate.record(0, 10, WINDOWS, WINDOW_MS) for _ in range(102)]
    assert max(delays[:100]) <= 0
    assert delays[100] == pytest.approx(100)
    assert delays[101] == pytest.approx(200)


def test_a_delay_is_one_window_at_most() -> None:
    rate = CreationRate()
    assert max(rate.record(0, 1, WINDOWS, WINDOW_MS) for _ in range(100)) == WINDOW_MS
    assert rate.record(0, 0, WINDOWS, WINDOW_MS) == WINDOW_MS


def test_what_came_long_ago_does_not_count() -> None:
    rate = CreationRate()
    for _ in range(100):
        rate.record(0, 10, WINDOWS, WINDOW_MS)
    assert rate.record(10_999, 10, WINDOWS, WINDOW_MS) < 0
    assert [rate.record(11_500, 10, WINDOWS, WINDOW_MS) <= 0 for _ in range(120)].count(True) > 95


def test_a_steady_stream_below_the_rate_is_never_held_up() -> None:
    rate = CreationRate()
    assert max(rate.record(number * 112, 10, WINDOWS, WINDOW_MS) for number in range(500)) <= 0


def test_the_protected_listener_is_not_counted_with_the_others() -> None:
    counted = quotas(max_creation_rate=1)
    assert max(counted.delay_ms("INSIDE", 0) for _ in range(100)) <= 0
    assert counted.delay_ms("OUTSIDE", 0) <= 0
    assert max(counted.delay_ms("OUTSIDE", 0) for _ in range(20)) == WINDOW_MS
