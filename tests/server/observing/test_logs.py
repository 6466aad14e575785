"""One line per event, whatever it holds."""

import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.observing.logs import LIBRARIES, Logs


def _logs(levels: str = "info") -> tuple[Logs, io.StringIO]:
    stream = io.StringIO()
    return Logs(levels, stream, now_ms=lambda: 1_700_000_000_123), stream


def test_a_line_has_time_level_room_message_and_facts() -> None:
    logs, stream = _logs()
    logs.room("replication").info("became leader", partition="orders-0", epoch=3, path=None)
    assert stream.getvalue() == (
        "2023-11-14T22:13:20.123Z INFO replication became leader"
        " partition=orders-0 epoch=3 path=None\n"
    )


def test_bound_facts_come_first_in_every_line() -> None:
    logs, stream = _logs()
    log = logs.room("connection").bind(broker=1).bind(client="c")
    log.warn("slow", bytes=5)
    log.error("gone")
    assert [line.split(" ", 2)[2] for line in stream.getvalue().splitlines()] == [
        "connection slow broker=1 client=c bytes=5",
        "connection gone broker=1 client=c",
    ]


def test_levels_are_set_for_all_rooms_and_for_single_ones() -> None:
    logs, stream = _logs("warn,replication=debug")
    quiet, chatty = logs.room("listener"), logs.room("replication").bind(broker=1)
    quiet.info("no")
    chatty.debug("yes")
    chatty.trace("no")
    logs.set_levels("trace,replication=error")
    quiet.trace("yes")
    chatty.warn("no")
    chatty.error("yes")
    lines = stream.getvalue().splitlines()
    assert [line.split()[3] for line in lines] == ["yes"] * 3
    assert logs.levels() == {"listener": "TRACE", "replication": "ERROR"}


def test_an_unexpected_exception_has_its_traceback_once() -> None:
    logs, stream = _logs()
    try:
        raise KeyError("epoch")
    except KeyError as error:
        logs.room("dispatch").unexpected("request failed", error, api="Fetch")
    first, *rest = stream.getvalue().splitlines()
    assert first.endswith("request failed api=Fetch error=\"KeyError('epoch')\"")
    assert rest[0] == "Traceback (most recent call last):"
    assert rest[-1] == "KeyError: 'epoch'"


@given(st.text(), st.text())
def test_whatever_a_client_sends_stays_on_its_line(message: str, value: str) -> None:
    logs, stream = _logs()
    logs.room("connection").warn(message, client=value, last=1)
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text[:-1].isprintable()
    shown = text[:-1].rpartition(" client=")[2].removesuffix(" last=1")
    if " client=" not in value:
        assert (json.loads(shown) if shown.startswith('"') else shown) == value


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_a_closed_stream_does_not_stop_the_broker(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = stream or io.StringIO()
    closed.close()
    if stream is None:
        monkeypatch.setattr("sys.stderr", closed)
    Logs("info", stream).room("broker").info("stopped")


def test_the_time_follows_the_clock_across_seconds() -> None:
    times = iter([999, 1_000, 86_400_001])
    stream = io.StringIO()
    log = Logs("info", stream, now_ms=lambda: next(times)).room("broker")
    for _ in range(3):
        log.info("tick")
    assert [line.split()[0] for line in stream.getvalue().splitlines()] == [
        "1970-01-01T00:00:00.999Z",
        "1970-01-01T00:00:01.000Z",
        "1970-01-02T00:00:00.001Z",
    ]


@pytest.mark.broker_says("a task failed")
def test_what_libraries_log_is_written_in_their_rooms() -> None:
    logs, stream = _logs("warn,registry=error")
    handlers = {name: logging.getLogger(name).handlers.copy() for name in LIBRARIES}
    levels = {name: logging.getLogger(name).level for name in LIBRARIES}
    logs.hear_libraries()
    try:
        logging.getLogger("barnabas.storage.manager.x").warning("%s is left alone", "a\nb")
        logging.getLogger("barnabas.storage.manager.x").info("not at this level")
        logging.getLogger("barnabas.server.registry.x").warning("nor this")
        try:
            raise KeyError("x")
        except KeyError:
            logging.getLogger("asyncio").exception("a task failed")
    finally:
        for name in LIBRARIES:
            logging.getLogger(name).handlers[:] = handlers[name]
            logging.getLogger(name).setLevel(levels[name])
    first, second, *rest = stream.getvalue().splitlines()
    assert first.endswith('WARN storage "a\\nb is left alone"')
    assert second.endswith("ERROR asyncio a task failed error=\"KeyError('x')\"")
    assert rest[0] == "Traceback (most recent call last):" and rest[-1] == "KeyError: 'x'"
