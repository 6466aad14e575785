"""Events as records: the key is the user's id, the value one JSON object.

{"event_id": "0d1f…", "event_time": "2026-03-02T10:00:00.123Z", "user_id": "u0000042",
 "session_id": "9c0e…", "kind": "page_view" | "search" | "sign_in", "page": "/product/7",
 "query": null, "referrer": "/offers", "country": "DE", "device": "phone", "is_bot": false}
"""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from barnabas.pipeline.generate.catalogue import (
    COUNTRIES,
    DEVICES,
    KINDS,
    ORIGINS,
    PAGE_VIEW,
    PAGES,
    QUERIES,
    SEARCH_PAGE,
    SIGN_IN_PAGE,
)
from barnabas.pipeline.generate.events import NONE, Events, is_bot
from barnabas.pipeline.generate.numbers import Hashes, Integers
from barnabas.pipeline.generate.visits import BOT_BASE

REFERRERS: Final = (*ORIGINS, *PAGES)
PAGE_OF_KIND: Final = {1: SEARCH_PAGE, 2: SIGN_IN_PAGE}


class Text(NamedTuple):
    """A record as it is written; the timestamp is when the event happened."""

    timestamp_ms: int
    key: bytes
    value: bytes


def user_ids(visitors: Integers) -> list[str]:
    """`u0000042` for people, `b0000007` for bots: always eight bytes."""
    return [
        f"b{number - BOT_BASE:07d}" if number >= BOT_BASE else f"u{number:07d}"
        for number in visitors.tolist()
    ]


def ids(numbers: Hashes) -> list[str]:
    """Sixteen hexadecimal digits each."""
    return [f"{number:016x}" for number in numbers.tolist()]


def times(times_ms: Integers) -> list[str]:
    """As ISO 8601 has it, to the millisecond, UTC."""
    found: list[str] = np.datetime_as_string(times_ms.astype("datetime64[ms]")).tolist()
    return found


def pages(events: Events) -> list[str]:
    """The path of each event's page."""
    return [
        PAGES[page] if kind == PAGE_VIEW else PAGE_OF_KIND[kind]
        for kind, page in zip(events.kind.tolist(), events.page.tolist(), strict=True)
    ]


def texts(events: Events) -> Iterator[Text]:
    """The events as records."""
    columns = zip(
        events.event_ms.tolist(), times(events.event_ms), user_ids(events.visitor),
        ids(events.event_id), ids(events.session_id), events.kind.tolist(), pages(events),
        events.query.tolist(), events.referrer.tolist(), _about(events), strict=True,
    )  # fmt: skip
    for time_ms, time, user, event, session, kind, page, query, referrer, about in columns:
        value = (
            f'{{"event_id":"{event}","event_time":"{time}Z","user_id":"{user}",'
            f'"session_id":"{session}","kind":"{KINDS[kind]}","page":"{page}",'
            f'"query":{_QUERIES[query]},"referrer":{_REFERRERS[referrer]},{about}'
        )
        yield Text(time_ms, user.encode(), value.encode())


_QUERIES: Final = {NONE: "null", **{code: json.dumps(text) for code, text in enumerate(QUERIES)}}
_REFERRERS: Final = [json.dumps(text) for text in REFERRERS]
_ABOUT: Final = [
    f'"country":"{country}","device":"{device}","is_bot":{is_a_bot}}}'
    for country in COUNTRIES
    for device in DEVICES
    for is_a_bot in ("false", "true")
]


def _about(events: Events) -> list[str]:
    code = (events.country * len(DEVICES) + events.device) * 2 + is_bot(events.visitor)
    return [_ABOUT[number] for number in code.tolist()]
