"""The events of a stream: the same for the same seed, and like those of a website."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np
import pytest

from barnabas.pipeline.generate.catalogue import PAGES, QUERIES
from barnabas.pipeline.generate.events import events_of, is_bot
from barnabas.pipeline.generate.plan import HOUR_MS, Plan
from barnabas.pipeline.generate.texts import Text, texts

PLAN = Plan(60_000, seed=7, users=2_000, span_ms=6 * HOUR_MS)
# Of PLAN: a stream that is the same here and there today is to be so next year, too.
DIGEST = "13031fee3c71408f5c093a283217c64252214ea9ea11e14262b1f0dcaa705a8a"


def records(plan: Plan) -> list[Text]:
    return [text for block in plan.blocks for text in texts(events_of(plan, block))]


@cache
def values() -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(text.value) for text in records(PLAN))


def digest(plan: Plan) -> str:
    return sha256(b"".join(repr(tuple(text)).encode() for text in records(plan))).hexdigest()


def test_a_seed_makes_the_stream_that_it_has_always_made() -> None:
    assert digest(PLAN) == DIGEST


def test_another_seed_makes_another_stream() -> None:
    one, other = (digest(Plan(2_000, seed=seed)) for seed in (1, 2))
    assert one != other


@pytest.mark.parametrize("count", [1, 2, 5, 63, 64, 65])
def test_the_smallest_streams_have_their_events(count: int) -> None:
    assert len(records(Plan(count))) == count


def test_blocks_by_parts_of_their_visitors_are_the_blocks() -> None:
    for block in PLAN.blocks:
        whole = events_of(PLAN, block)
        parts = [events_of(PLAN, block, lambda v, n=n: v % 3 == n) for n in range(3)]
        for name in vars(whole):
            together = np.concatenate([getattr(part, name) for part in parts])
            order = np.argsort(np.concatenate([part.position for part in parts]))
            assert np.array_equal(together[order], getattr(whole, name)), name


def test_events_arrive_in_order_and_not_before_they_happen() -> None:
    for block in PLAN.blocks:
        events = events_of(PLAN, block)
        assert np.array_equal(events.position, np.arange(block.first, block.first + block.count))
        assert (np.diff(events.arrival_ms) >= 0).all()
        assert block.start_ms <= events.arrival_ms[0] <= events.arrival_ms[-1] < block.end_ms
        assert (events.event_ms < events.arrival_ms).all()


def test_some_events_are_late() -> None:
    delays = np.concatenate(
        [(e := events_of(PLAN, block)).arrival_ms - e.event_ms for block in PLAN.blocks]
    )
    assert 0.005 < (delays > 60_000).mean() < 0.03
    assert 0.002 < (delays > 900_000).mean() < 0.01


def test_some_events_come_twice_and_unchanged() -> None:
    by_id = defaultdict(list)
    for value in values():
        by_id[value["event_id"]].append(value)
    twice = [group for group in by_id.values() if len(group) > 1]
    assert 0.002 < len(twice) / len(by_id) < 0.008
    assert all(group == [group[0]] * 2 for group in twice)


def test_a_session_is_of_one_visitor_and_begins_with_a_page() -> None:
    sessions = defaultdict(list)
    for value in values():
        sessions[value["session_id"]].append(value)
    assert all(len({value["user_id"] for value in session}) == 1 for session in sessions.values())
    assert all(session[0]["kind"] == "page_view" for session in sessions.values())
    lengths = [len(session) for session in sessions.values() if not session[0]["is_bot"]]
    assert 3 < np.mean(lengths) < 12


def test_a_referrer_is_the_page_before() -> None:
    last: dict[str, dict[str, Any]] = {}
    followed = 0
    for value in values():
        before = last.get(value["session_id"])
        if before is not None and before["kind"] == "page_view" and value != before:
            followed += value["referrer"] == before["page"]
        last[value["session_id"]] = value
    assert followed > 0.9 * sum(value["referrer"] in PAGES for value in values())


def test_few_people_come_often_and_bots_more_often() -> None:
    people = Counter(value["user_id"] for value in values() if not value["is_bot"])
    often = sorted(people.values(), reverse=True)
    assert sum(often[: len(often) // 10]) > 0.3 * sum(often)
    bots = {value["user_id"] for value in values() if value["is_bot"]}
    assert bots and all(user.startswith("b") for user in bots)
    assert 0.01 < sum(value["is_bot"] for value in values()) / len(values()) < 0.2


def test_an_event_says_what_its_kind_has() -> None:
    for value in values():
        assert (value["query"] in QUERIES) == (value["kind"] == "search")
        assert (value["page"] in PAGES) == (value["kind"] == "page_view")


def test_a_record_is_keyed_by_its_user_and_stamped_with_its_time() -> None:
    for text, value in zip(records(PLAN), values(), strict=True):
        assert text.key.decode() == value["user_id"]
        time = np.datetime64(value["event_time"].removesuffix("Z"), "ms")
        assert text.timestamp_ms == time.astype(np.int64)


def test_bots_are_told_by_their_number() -> None:
    events = events_of(PLAN, PLAN.blocks[0])
    assert is_bot(events.visitor).tolist() == [text.key.startswith(b"b") for text in texts(events)]
