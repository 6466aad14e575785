"""A queue of events, served one after the other, each until it has succeeded.

An event reads how things stand and brings them to how they should be, so it may come late, twice
or out of order. One that fails is said once and served again later, with growing pauses; the
others go on meanwhile, so that nothing that stays wrong with one topic keeps the rest waiting.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.errors import ApiError, is_expected
from barnabas.server.observing.logs import Log
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.znodes.store import ZnodeError
from barnabas.wire.error_codes import ErrorCode

FIRST_PAUSE_MS = 100.0
LONGEST_PAUSE_MS = 10_000.0

Event = Callable[[], Awaitable[None]]
T = TypeVar("T")


def _nobody() -> None:
    """Nobody waits for most events."""


class _Entry(NamedTuple):
    """An event in the queue, with what to call it in the log and how often it has failed.

    `forgotten` is called if it will never be served.
    """

    what: str
    event: Event
    failures: int = 0
    forgotten: Callable[[], None] = _nobody


class RetriedEvents:
    """The events of one controller."""

    def __init__(self, clock: Clock, log: Log, on_moved: Callable[[ControllerMoved], None]) -> None:
        """`on_moved` hears when an event finds that another broker has become controller."""
        self._clock = clock
        self._log = log
        self._on_moved = on_moved
        self._queue: asyncio.Queue[_Entry] = asyncio.Queue()
        self._later: dict[Timer, _Entry] = {}  # that have failed
        self._task: asyncio.Task[None] | None = None

    def put(self, what: str, event: Event) -> None:
        """Serve an event after those that are waiting."""
        self._queue.put_nowait(_Entry(what, event))

    async def ask(self, what: str, work: Callable[[], Awaitable[T]]) -> T:
        """What comes of work that is done in its turn, once: who asks may ask again.

        Raises what the work raises, and ControllerMoved if its turn never comes.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        moved = ControllerMoved("this broker is not the controller any more")
        forgotten = partial(_fail, answer, moved)

        async def serve() -> None:
            try:
                result = await work()
            except ControllerMoved as error:
                _fail(answer, error)
                raise
            except asyncio.CancelledError:
                forgotten()
                raise
            except Exception as error:
                _fail(answer, error)
            else:
                if not answer.done():
                    answer.set_result(result)

        self._queue.put_nowait(_Entry(what, serve, forgotten=forgotten))
        return await answer

    def start(self) -> None:
        """Begin to serve them."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Serve no more; the one in hand ends where it next waits."""
        task = self._task
        self.abandon()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    def abandon(self) -> None:
        """Stop at once, as a crash would."""
        self.clear()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def clear(self) -> None:
        """Forget every event, those that are to be served again included."""
        for timer in self._later:
            timer.cancel()
        self._later.clear()
        while not self._queue.empty():
            self._queue.get_nowait().forgotten()

    def hurry(self) -> None:
        """Serve now what was to be served again later: why it failed may be over."""
        later, self._later = self._later, {}
        for timer, entry in later.items():
            timer.cancel()
            self._queue.put_nowait(entry)

    async def attempt(self, what: str, event: Event) -> None:
        """Serve an event now, out of turn; if it fails it is served again later.

        Raises ControllerMoved.
        """
        await self._serve(_Entry(what, event))

    async def _run(self) -> None:
        while True:
            entry = await self._queue.get()
            try:
                await self._serve(entry)
            except ControllerMoved as error:
                self._on_moved(error)

    async def _serve(self, entry: _Entry) -> None:
        try:
            await entry.event()
        except ControllerMoved:
            raise
        except Exception as error:
            self._failed(entry, error)
            return
        if entry.failures:
            self._log.info("an event succeeded", event=entry.what, after_failures=entry.failures)

    def failed(self, what: str, event: Event, error: Exception) -> None:
        """Say what went wrong; `event` is served later to make up for it."""
        self._failed(_Entry(what, event), error)

    def _failed(self, entry: _Entry, error: Exception) -> None:
        self._say(entry, error)
        self._serve_again(entry)

    def _say(self, entry: _Entry, error: Exception) -> None:
        if entry.failures:
            self._log.debug("an event failed again", event=entry.what, error=repr(error))
        elif isinstance(error, ApiError) and error.code is ErrorCode.STALE_CONTROLLER_EPOCH:
            # A broker has heard of the next controller before this one has: nothing is wrong.
            self._log.warn("a broker obeys another controller", event=entry.what)
        elif is_expected(error) or isinstance(error, ZnodeError):
            self._log.error("an event failed and is tried again", event=entry.what, error=error)
        else:
            self._log.unexpected("an event failed and is tried again", error, event=entry.what)

    def _serve_again(self, entry: _Entry) -> None:
        again = entry._replace(failures=entry.failures + 1)
        pause_ms = min(FIRST_PAUSE_MS * 2**entry.failures, LONGEST_PAUSE_MS)

        def put() -> None:
            del self._later[timer]
            self._queue.put_nowait(again)

        timer = self._clock.call_later(pause_ms, put)
        self._later[timer] = again


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
