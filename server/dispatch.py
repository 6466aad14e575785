"""The one path of every request: header, route, faults, decoding, handler, answer.

An exception that is no refusal is a bug: it is logged once with what identifies the request, and
the client is told UNKNOWN_SERVER_ERROR.

A frame above `LARGE_FRAME_BYTES` is decoded in steps, and what a handler returns as `Sliced` is
made and encoded in steps (`turns`): no request holds up those of others.

Nothing here touches a connection: `process` returns what came out of a request (`Outcome`), and
the outcome of one that was parked is given to `Connection.resume`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from barnabas.server.core.collector import without_full_collections
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError, code_of, is_expected, message_of
from barnabas.server.core.turns import Sliced, Waiting
from barnabas.server.network.connection import Connection
from barnabas.server.network.outcomes import Close, InTurns, Outcome, Pending, Throttled
from barnabas.server.observing.logs import Log
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.error_response import error_response
from barnabas.server.requests.services import Services
from barnabas.server.routes import Route, Routes
from barnabas.wire.connection import Encoded
from barnabas.wire.errors import ProtocolError
from barnabas.wire.header import RequestHeader, parse_request_header
from barnabas.wire.schema import Message

if TYPE_CHECKING:
    from barnabas.server.requests.faults import Fault, Faults
    from barnabas.server.requests.metrics import RequestMeter

# Smaller frames are decoded in at most a few milliseconds, however many elements they hold.
LARGE_FRAME_BYTES: Final = 32 * 1024
# Up to this size a frame that cannot be decoded is looked at again, slowly, to say where it is bad.
EXPLAINED_FRAME_BYTES: Final = 2 * 1024

Observer = Callable[[RequestHeader, Message, Message | None], None]


class Dispatcher:
    """Serves frames; one per broker."""

    def __init__(self, services: Services, routes: Routes, log: Log) -> None:
        self._services = services
        self._routes = routes
        self._log = log
        self._taken = routes.taken
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turns = services.turns
        # What tests want to go wrong; None costs nothing.
        self.faults: Faults | None = None
        # Called with (header, request, response) once an answer is known: a test's request log.
        self.observer: Observer | None = None
        # Records times and sizes, where somebody can read them.
        self.meter: RequestMeter | None = None

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        """Serve one request frame. Raises ProtocolError: the connection is lost."""
        header, body_start = parse_request_header(frame)
        route = self._taken.get((header.api_key, header.api_version))
        if route is None:
            found = self._routes.find(header)
            if not isinstance(found, Route):
                return found
            route = found
        route.count += 1
        context = RequestContext(self._services, connection, header)
        if self.meter is not None:
            self.meter.begin(context, frame)
        if len(frame) > LARGE_FRAME_BYTES:
            steps = self._process_in_steps(route, context, frame, body_start)
            return self._begin(route, context, steps, len(frame))
        bound = route.bound
        try:
            request = bound.decode(frame, body_start)
        except ProtocolError:
            if len(frame) > EXPLAINED_FRAME_BYTES:
                raise
            request = bound.parse(frame, body_start)  # once more, for the path
        if self.faults is not None:
            fault = self._meets_fault(self.faults, route, context, request)
            if fault is not None:
                return self._suffer(fault, route, context, request)
        return self._serve(route, context, request)

    def _process_in_steps(
        self, route: Route, context: RequestContext, frame: memoryview, body_start: int
    ) -> Waiting[Outcome]:
        """The same for a large frame."""
        try:
            request = yield from route.bound.decode_in_steps(frame, body_start)
        except ProtocolError as error:
            return Close(f"the client sent {error}", is_misuse=True)
        if context.connection.closed:
            return None
        if self.faults is not None:
            fault = self._meets_fault(self.faults, route, context, request)
            if fault is not None:
                return self._suffer(fault, route, context, request)
        result = self._handle(route, context, request)
        if isinstance(result, Sliced):
            return (yield from self._answer_slices(route, context, request, result.steps))
        if isinstance(result, Message):
            return (yield from self._answer_in_steps(route, context, request, result))
        if isinstance(result, Coroutine):
            return self._start(route, context, request, result, is_large=True)
        return self._outcome_of(route, context, request, result)

    def _begin(
        self, route: Route, context: RequestContext, work: Waiting[Outcome], frame_bytes: int = 0
    ) -> Outcome:
        """Do what ends with an outcome, in as many turns as it takes, from a frame of that size."""
        made = _Made()
        steps = self._finishing(route, context, work, made)
        if self._turns.begin(steps):
            return made.outcome
        if context.connection.closed:
            return None
        made.is_late = True
        task = asyncio.get_running_loop().create_task(self._turns.run(steps))
        self._tasks.add(task)

        def done(finished: asyncio.Task[None]) -> None:
            self._tasks.discard(finished)
            error = None if finished.cancelled() else finished.exception()
            if isinstance(error, Exception):
                self._log.unexpected("a large request failed", error)
                context.connection.close("a large request failed")

        task.add_done_callback(done)
        return InTurns(frame_bytes)

    def _finishing(
        self, route: Route, context: RequestContext, work: Waiting[Outcome], made: "_Made"
    ) -> Waiting[None]:
        """Whoever began the work takes its outcome, while it waits for that; else it is given."""
        outcome = yield from work
        if made.is_late:
            self._give(route, context, outcome)
        else:
            made.outcome = outcome

    def _give(self, route: Route, context: RequestContext, outcome: Outcome) -> None:
        """Whoever woke a request is served, whatever is wrong with this one's connection."""
        try:
            context.connection.resume(outcome, context.place)
        except Exception as error:
            self._log.unexpected("an answer was not sent", error, api=route.api_key.name)
            context.connection.close("the answer could not be sent")

    def _serve(self, route: Route, context: RequestContext, request: Message) -> Outcome:
        """Hand a decoded request to its handler."""
        return self._outcome_of(route, context, request, self._handle(route, context, request))

    def _handle(self, route: Route, context: RequestContext, request: Message) -> Any:
        try:
            return route.handle(request, context)
        except Exception as error:
            return self._refuse(route, context, request, error)

    def _outcome_of(
        self, route: Route, context: RequestContext, request: Message, result: Any
    ) -> Outcome:
        """What a handler's result comes to: its answer, now or later."""
        if isinstance(result, Message):
            return self._answer(route, context, request, result)
        if isinstance(result, Deferred):
            return self._wait_for(route, context, request, result)
        if isinstance(result, Sliced):
            slices = self._answer_slices(route, context, request, result.steps)
            return self._begin(route, context, slices)
        if result is None or isinstance(result, Close):
            return self._let_go(context, request, result)
        return self._start(route, context, request, result)

    def _wait_for(
        self, route: Route, context: RequestContext, request: Message, result: Deferred[Any]
    ) -> Outcome:
        if result.done:
            return self._answer_of(route, context, request, result.answer)
        result.then(lambda given: self._resume(route, context, request, given.answer))
        return result

    def _let_go(self, context: RequestContext, request: Message, close: Close | None) -> Outcome:
        """A request has been served and gets no answer; its connection may have to end for it."""
        if self.observer is not None:
            self.observe(context.header, request, None)
        if self.meter is not None:
            self.meter.end(context, request, None)
        if close is None and context.throttle_ms:
            return Throttled(None, context.throttle_ms)
        return close

    def observe(self, header: RequestHeader, request: Message, response: Message | None) -> None:
        """Tell a test of a request; whatever it makes of it, the client is answered."""
        if self.observer is None:
            return
        try:
            self.observer(header, request, response)
        except Exception as error:
            self._log.unexpected("an observer failed", error, request=type(request).__name__)

    def stop(self) -> None:
        """Cancel what is still being worked on."""
        for task in tuple(self._tasks):
            task.cancel()

    def _answer(
        self, route: Route, context: RequestContext, request: Message, response: Message
    ) -> Outcome:
        """The answer as it is sent."""
        self._show(context, request, response)
        try:
            encoded = route.encode(context.header.correlation_id, response)
        except ProtocolError as error:
            return self._give_up(route, error)
        return self._finished(context, request, response, encoded)

    def _answer_in_steps(
        self, route: Route, context: RequestContext, request: Message, response: Message
    ) -> Waiting[Outcome]:
        """The same for an answer that may be large."""
        self._show(context, request, response)
        try:
            encoded = yield from route.encode_in_steps(context.header.correlation_id, response)
        except ProtocolError as error:
            return self._give_up(route, error)
        return self._finished(context, request, response, encoded)

    def _answer_slices(
        self, route: Route, context: RequestContext, request: Message, slices: Waiting[Any]
    ) -> Waiting[Outcome]:
        """Make the answer in steps."""
        try:
            result = yield from slices
        except Exception as error:
            result = self._refuse(route, context, request, error)
        if isinstance(result, Message):
            return (yield from self._answer_in_steps(route, context, request, result))
        return self._outcome_of(route, context, request, result)

    def _show(self, context: RequestContext, request: Message, response: Message) -> None:
        """The answer is known: it says that the client is throttled, a test may look at it."""
        if context.throttle_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = context.throttle_ms
        if self.observer is not None:
            self.observe(context.header, request, response)

    def _finished(
        self, context: RequestContext, request: Message, response: Message, encoded: Encoded
    ) -> Outcome:
        if self.meter is not None:
            self.meter.end(context, request, response)
        if context.throttle_ms:
            return Throttled(encoded, context.throttle_ms)
        fault = context.fault
        return encoded if fault is None else fault.spoil(encoded)

    def _give_up(self, route: Route, error: ProtocolError) -> Close:
        self._log.unexpected("an answer has no bytes", error, api=route.api_key.name)
        return Close("the answer could not be encoded")

    def _resume(
        self, route: Route, context: RequestContext, request: Message, answer: Callable[[], Any]
    ) -> None:
        """A parked request's time has come."""
        if context.connection.closed:
            return
        try:
            outcome = self._answer_of(route, context, request, answer)
        except Exception as error:
            self._log.unexpected("an answer was not made", error, api=route.api_key.name)
            context.connection.close("the answer could not be made")
        else:
            self._give(route, context, outcome)

    def _answer_of(
        self, route: Route, context: RequestContext, request: Message, answer: Callable[[], Any]
    ) -> Outcome:
        try:
            response = answer()
        except Exception as error:
            response = self._refuse(route, context, request, error)
        return self._outcome_of(route, context, request, response)

    def _meets_fault(
        self, faults: "Faults", route: Route, context: RequestContext, request: Message
    ) -> "Fault | None":
        """A fault that takes the request away from its handler, for now or for good."""
        try:
            fault = context.fault = faults.hit(context.header, request, self._services)
        except Exception as error:  # of a test's predicate: then the request is none of those
            self._log.unexpected("a fault cannot be matched", error, api=route.api_key.name)
            return None
        if fault is not None and fault.action == "throttle":
            context.throttle(fault.throttle_ms)
        return fault if fault is not None and fault.is_before_the_handler else None

    def _suffer(
        self, fault: "Fault", route: Route, context: RequestContext, request: Message
    ) -> Outcome:
        """What comes out of a request that meets a fault before its handler."""
        if fault.action == "close":
            return Close("a fault closed it")
        if fault.action == "error":
            refused = ApiError(fault.error, "a fault")
            result = self._refuse(route, context, request, refused)
            return self._outcome_of(route, context, request, result)
        if fault.action == "delay":
            handle = partial(route.handle, request, context)
            late = partial(self._resume, route, context, request, handle)
            self._services.clock.call_later(fault.delay_ms, late)
        return Deferred()

    def _start(
        self,
        route: Route,
        context: RequestContext,
        request: Message,
        work: Coroutine[Any, Any, Message | None],
        *,
        is_large: bool = False,
    ) -> Pending:
        """A handler that has to wait for the registry or another broker: run it as a task."""
        run = without_full_collections(work) if is_large else work
        task = asyncio.get_running_loop().create_task(run)
        self._tasks.add(task)

        def done(finished: asyncio.Task[Message | None]) -> None:
            self._tasks.discard(finished)
            work.close()  # it may have been cancelled before it began
            if finished.cancelled():
                return
            error = finished.exception()
            if context.connection.closed and isinstance(error, Exception):
                self._say_unless_expected(route, context, error)
            self._resume(route, context, request, lambda: Sliced(_result_of(finished)))

        task.add_done_callback(done)
        return InTurns(0)

    def _refuse(
        self, route: Route, context: RequestContext, request: Message, error: Exception
    ) -> Message | Close:
        """The answer to a request whose handler raised."""
        self._say_unless_expected(route, context, error)
        code = code_of(error)
        message = message_of(error) if is_expected(error) else None
        version = context.header.api_version
        response = error_response(route.module, route.api_key, version, request, code, message)
        if response is None:
            return Close(f"{route.api_key.name} cannot answer {code.name}")
        return response

    def _say_unless_expected(self, route: Route, context: RequestContext, error: Exception) -> None:
        if not is_expected(error):
            header = context.header
            self._log.unexpected(
                "a handler failed",
                error,
                api=route.api_key.name,
                version=header.api_version,
                client=header.client_id,
                correlation=header.correlation_id,
            )


class _Made:
    """The outcome of work in turns, as long as whoever began it waits for it."""

    __slots__ = ("is_late", "outcome")

    def __init__(self) -> None:
        self.is_late = False
        self.outcome: Outcome = None


def _result_of(task: asyncio.Task[Any]) -> Waiting[Any]:
    """What a task came to: its answer is encoded in steps, for it may be large."""
    result: Any = task.result()
    return (yield from result.steps) if isinstance(result, Sliced) else result
