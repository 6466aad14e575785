"""The one path of every request: header, version, faults, decoding, handler, answer.

An API nobody serves, or a version outside the handler's range, closes the connection without
an answer, as Kafka does; only ApiVersions is answered at any version (KIP-511). An exception
that is no refusal is a bug: it is logged once with what identifies the request, and the
client is told UNKNOWN_SERVER_ERROR.

A frame above `LARGE_FRAME_BYTES` is decoded in steps, and what a handler returns as `Sliced` is
made and encoded in steps (`turns`): no request holds up those of others.
"""

import asyncio
from collections.abc import Callable, Coroutine
from importlib import import_module
from types import CoroutineType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from barnabas.server.core.collector import without_full_collections
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError, code_of, is_expected, message_of
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import HANDLERS
from barnabas.server.network.connection import Connection
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.error_response import error_response
from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.compiler import Steps
from barnabas.wire.connection import Encoded, ResponseEncoder, encode_response
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.errors import ProtocolError
from barnabas.wire.header import RequestHeader, parse_request_header
from barnabas.wire.schema import Message

if TYPE_CHECKING:
    from barnabas.server.broker import Broker
    from barnabas.server.requests.faults import Faults
    from barnabas.server.requests.metrics import RequestMeter

# Smaller frames are decoded in at most a few milliseconds, however many elements they hold.
LARGE_FRAME_BYTES: Final = 32 * 1024
# Up to this size a frame that cannot be decoded is looked at again, slowly, to say where it is bad.
EXPLAINED_FRAME_BYTES: Final = 2 * 1024
_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)

Observer = Callable[[RequestHeader, Message, Message | None], None]


class Route:
    """One API at one version: how to decode it and who handles it."""

    __slots__ = ("api_key", "bound", "count", "encode", "encode_in_steps", "handle", "module")

    def __init__(self, api_key: ApiKey, version: int, module: ModuleType) -> None:
        self.api_key = api_key
        self.module = module
        self.handle: Callable[[Any, RequestContext], Any] = module.handle
        self.bound = request_class(api_key).at(version)
        encoder = ResponseEncoder(api_key, version)
        self.encode = encoder.encode
        self.encode_in_steps = encoder.encode_in_steps
        self.count = 0


class Dispatcher:
    """Serves frames; one per broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._log = broker.logs.room("dispatch")
        self._routes: dict[tuple[int, int], Route] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turns = broker.turns
        # What tests want to go wrong; None costs nothing.
        self.faults: Faults | None = None
        # Called with (header, request, response) once an answer is known: a test's request log.
        self.observer: Observer | None = None
        # Records times and sizes, where somebody can read them.
        self.meter: RequestMeter | None = None

    @property
    def routes(self) -> dict[tuple[int, int], Route]:
        """The routes taken so far, with their request counts, for metrics."""
        return self._routes

    def process(self, connection: Connection, frame: memoryview) -> None:
        """Serve one request frame. Raises ProtocolError: the connection is lost."""
        header, body_start = parse_request_header(frame)
        route = self._routes.get((header.api_key, header.api_version))
        if route is None:
            route = self._find_route(connection, header)
            if route is None:
                return
        route.count += 1
        context = RequestContext(self._broker, connection, header)
        if self.meter is not None:
            self.meter.begin(context, frame)
        if len(frame) > LARGE_FRAME_BYTES:
            work = self._process_in_steps(route, context, frame, body_start)
            self._begin(context, work, len(frame))
            return
        bound = route.bound
        try:
            request = bound.decode(frame, body_start)
        except ProtocolError:
            if len(frame) > EXPLAINED_FRAME_BYTES:
                raise
            request = bound.parse(frame, body_start)  # once more, for the path
        if self.faults is not None and self._meets_fault(self.faults, route, context, request):
            return
        self._serve(route, context, request)

    def _process_in_steps(
        self, route: Route, context: RequestContext, frame: memoryview, body_start: int
    ) -> Steps[None]:
        """The same for a large frame."""
        connection = context.connection
        try:
            request = yield from route.bound.decode_in_steps(frame, body_start)
        except ProtocolError as error:
            connection.close(f"the client sent {error}")
            return
        if connection.closed:
            return
        if self.faults is not None and self._meets_fault(self.faults, route, context, request):
            return
        result = self._handle(route, context, request)
        if isinstance(result, Sliced):
            yield from self._answer_slices(route, context, request, result.steps)
        elif isinstance(result, Message):
            yield from self._answer_in_steps(route, context, request, result)
        else:
            if isinstance(result, CoroutineType):
                result = without_full_collections(result)
            self._answer_later(route, context, request, result)

    def _begin(self, context: RequestContext, work: Steps[None], frame_bytes: int = 0) -> None:
        """Do what ends with an answer, in as many turns as it takes, from a frame of that size."""
        if self._turns.begin(work):
            return
        connection = context.connection
        if connection.closed:
            return
        task = asyncio.get_running_loop().create_task(self._turns.run(work))
        self._tasks.add(task)
        connection.hold(_TaskPending(task), frame_bytes)

        def done(finished: asyncio.Task[None]) -> None:
            self._tasks.discard(finished)
            error = None if finished.cancelled() else finished.exception()
            if isinstance(error, Exception):
                self._log.unexpected("a large request failed", error)
                connection.close("a large request failed")

        task.add_done_callback(done)

    def _serve(self, route: Route, context: RequestContext, request: Message) -> None:
        """Hand a decoded request to its handler and answer it, now or later."""
        result = self._handle(route, context, request)
        if isinstance(result, Message):
            self._answer(route, context, request, result)
        else:
            self._answer_later(route, context, request, result)

    def _handle(self, route: Route, context: RequestContext, request: Message) -> Any:
        try:
            return route.handle(request, context)
        except Exception as error:
            return self._refuse(route, context, request, error)

    def _answer_later(
        self, route: Route, context: RequestContext, request: Message, result: Any
    ) -> None:
        """Answer when the handler's result is there."""
        if isinstance(result, Deferred):
            context.connection.park(result)
            result.then(lambda given: self._resume(route, context, request, given.answer))
        elif isinstance(result, Sliced):
            self._begin(context, self._answer_slices(route, context, request, result.steps))
        elif isinstance(result, CoroutineType):
            self._start(route, context, request, result)
        else:
            self._let_go(context, request)

    def _let_go(self, context: RequestContext, request: Message) -> None:
        """A request has been served and gets no answer."""
        if self.observer is not None:
            self._observe(self.observer, context, request, None)
        if self.meter is not None:
            self.meter.end(context, request, None)
        context.connection.resume(None)

    def _observe(
        self,
        observer: "Observer",
        context: RequestContext,
        request: Message,
        response: Message | None,
    ) -> None:
        """Tell a test of a request; whatever it makes of it, the client is answered."""
        try:
            observer(context.header, request, response)
        except Exception as error:
            self._log.unexpected("an observer failed", error, request=type(request).__name__)

    def stop(self) -> None:
        """Cancel what is still being worked on."""
        for task in tuple(self._tasks):
            task.cancel()

    def _answer(
        self, route: Route, context: RequestContext, request: Message, response: Message | None
    ) -> None:
        """Send the answer, if there is one, and let the connection go on."""
        if response is None:
            self._let_go(context, request)
            return
        self._show(context, request, response)
        try:
            encoded = route.encode(context.header.correlation_id, response)
        except ProtocolError as error:
            self._give_up(route, context, error)
        else:
            self._send(context, request, response, encoded)

    def _answer_in_steps(
        self, route: Route, context: RequestContext, request: Message, response: Message | None
    ) -> Steps[None]:
        """The same for an answer that may be large."""
        if response is None:
            self._let_go(context, request)
            return
        self._show(context, request, response)
        try:
            encoded = yield from route.encode_in_steps(context.header.correlation_id, response)
        except ProtocolError as error:
            self._give_up(route, context, error)
        else:
            self._send(context, request, response, encoded)

    def _answer_slices(
        self, route: Route, context: RequestContext, request: Message, slices: Steps[Any]
    ) -> Steps[None]:
        """Make the answer in steps, then send it."""
        try:
            result = yield from slices
        except Exception as error:
            result = self._refuse(route, context, request, error)
        if isinstance(result, Message):
            yield from self._answer_in_steps(route, context, request, result)
        else:
            self._answer_later(route, context, request, result)

    def _show(self, context: RequestContext, request: Message, response: Message) -> None:
        """The answer is known: faults may change it, a test may look at it."""
        if context.fault is not None:
            context.fault.throttle(response)
        if self.observer is not None:
            self._observe(self.observer, context, request, response)

    def _send(
        self, context: RequestContext, request: Message, response: Message, encoded: Encoded
    ) -> None:
        fault = context.fault
        if fault is not None and fault.action in ("close_after", "truncate"):
            self._spoil(context, encoded)
        else:
            context.connection.resume(encoded)
        if self.meter is not None:
            self.meter.end(context, request, response)

    def _give_up(self, route: Route, context: RequestContext, error: ProtocolError) -> None:
        self._log.unexpected("an answer has no bytes", error, api=route.api_key.name)
        context.connection.close("the answer could not be encoded")

    def _resume(
        self,
        route: Route,
        context: RequestContext,
        request: Message,
        answer: Callable[[], Any],
    ) -> None:
        """A parked request's time has come."""
        if context.connection.closed:
            return
        try:
            response = answer()
        except Exception as error:
            response = self._refuse(route, context, request, error)
        if isinstance(response, Sliced):
            self._begin(context, self._answer_slices(route, context, request, response.steps))
            return
        try:
            self._answer(route, context, request, response)
        except Exception as error:  # whoever woke it is served, whatever is wrong with this one
            self._log.unexpected("an answer was not sent", error, api=route.api_key.name)
            context.connection.close("the answer could not be sent")

    def _meets_fault(
        self, faults: "Faults", route: Route, context: RequestContext, request: Message
    ) -> bool:
        """Whether a fault has taken the request away from its handler, for now or for good."""
        try:
            fault = faults.hit(context, request)
        except Exception as error:  # of a test's predicate: then the request is none of those
            self._log.unexpected("a fault cannot be matched", error, api=route.api_key.name)
            return False
        if fault is None:
            return False
        connection = context.connection
        context.fault = fault
        if fault.action == "close":
            connection.close("a fault closed it")
        elif fault.action == "drop":
            connection.park(Deferred())
        elif fault.action == "error":
            refused = ApiError(fault.error, "a fault")
            self._answer(route, context, request, self._refuse(route, context, request, refused))
        elif fault.action == "delay":
            connection.park(Deferred())
            self._broker.clock.call_later(
                fault.delay_ms, lambda: self._serve_late(route, context, request)
            )
        else:
            return False
        return True

    def _serve_late(self, route: Route, context: RequestContext, request: Message) -> None:
        if not context.connection.closed:
            self._serve(route, context, request)

    @staticmethod
    def _spoil(context: RequestContext, encoded: Encoded) -> None:
        """Lose the answer, or half of it."""
        if context.fault is not None and context.fault.action == "truncate":
            whole = bytes(encoded)
            context.connection.outbox.put_bytes(whole[: len(whole) // 2])
            context.connection.outbox.flush()
        context.connection.close("a fault closed it")

    def _start(
        self,
        route: Route,
        context: RequestContext,
        request: Message,
        work: Coroutine[Any, Any, Message | None],
    ) -> None:
        """A handler that has to wait for the registry or another broker: run it as a task."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        context.connection.park(_TaskPending(task))

        def done(finished: asyncio.Task[Message | None]) -> None:
            self._tasks.discard(finished)
            if finished.cancelled():
                return
            error = finished.exception()
            if context.connection.closed and isinstance(error, Exception):
                self._say_unless_expected(route, context, error)
            self._resume(route, context, request, lambda: Sliced(_result_of(finished)))

        task.add_done_callback(done)

    def _refuse(
        self, route: Route, context: RequestContext, request: Message, error: Exception
    ) -> Message | None:
        """The answer to a request whose handler raised."""
        self._say_unless_expected(route, context, error)
        code = code_of(error)
        message = message_of(error) if is_expected(error) else None
        response = error_response(route.module, route.api_key, request, code, message)
        if response is None:
            context.connection.close(f"{route.api_key.name} cannot answer {code.name}")
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

    def _find_route(self, connection: Connection, header: RequestHeader) -> Route | None:
        """The route of a first request of its kind; refuses what nobody serves."""
        key, version = header.api_key, header.api_version
        served = self._broker.served_versions.get(ApiKey(key)) if key in _KEYS else None
        if served is None:
            connection.close(f"API key {key} is not served")
            return None
        if not served.first <= version <= served.last:
            if key == _API_VERSIONS:
                connection.resume(self._unsupported_api_versions(header))
            else:
                connection.close(
                    f"{ApiKey(key).name} version {version} is not served, "
                    f"{served.first} to {served.last} are"
                )
            return None
        module = import_module(f"barnabas.server.handlers.{ApiKey(key).name.lower()}")
        route = self._routes[key, version] = Route(ApiKey(key), version, module)
        return route

    def _unsupported_api_versions(self, header: RequestHeader) -> Encoded:
        """Error 35 in version 0, whatever the body held, naming the versions to try (KIP-511)."""
        from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse

        served = self._broker.served_versions[ApiKey.API_VERSIONS]
        response = ApiVersionsResponse(
            error_code=int(ErrorCode.UNSUPPORTED_VERSION),
            api_keys=[
                ApiVersion(api_key=_API_VERSIONS, min_version=served.first, max_version=served.last)
            ],
        )
        return encode_response(_API_VERSIONS, 0, header.correlation_id, response)


class _TaskPending:
    """A request that a task works on."""

    __slots__ = ("_task",)

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self._task = task

    def hurry(self) -> None:
        """A task takes the time it takes."""

    def cancel(self) -> None:
        """The client is gone; what the task has begun, it may finish."""


def _result_of(task: asyncio.Task[Any]) -> Steps[Any]:
    """What a task came to: its answer is encoded in steps, for it may be large."""
    result: Any = task.result()
    return (yield from result.steps) if isinstance(result, Sliced) else result


_KEYS = frozenset(int(key) for key in HANDLERS)
