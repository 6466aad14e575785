"""What is recorded of every request: its time, its size, the error codes of its answer.

Names and meanings are those of kafka.network.RequestMetrics. Time is counted from the whole frame
to the queued answer, waits included. A Fetch is counted twice, as Fetch and as FetchConsumer or
FetchFollower. Recording costs 1 to 2 µs a request, so dispatch does it only for a broker whose
metrics can be read (`barnabas.http.port`).
"""

from collections import Counter
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, Final, NamedTuple

from barnabas.server.observing.metrics import Metrics, RequestMetrics
from barnabas.server.replication.fetcher import replica_id_of
from barnabas.server.requests.context import RequestContext
from barnabas.wire.api import ApiKey, api_name, response_class
from barnabas.wire.arrays import Array
from barnabas.wire.schema import Message, Struct
from barnabas.wire.structs import StructKind

_FETCH: Final = int(ApiKey.FETCH)

CountErrors = Callable[[Any, Counter[int]], None]


class _Api(NamedTuple):
    """Where an API is counted, and what finds the error codes in its responses."""

    counts: RequestMetrics
    count_errors: CountErrors | None

    def record(self, time_us: int, size_bytes: int, response: Message | None) -> None:
        counts, count_errors = self
        counts.total_time_us.record(time_us)
        counts.request_bytes.record(size_bytes)
        if response is not None and count_errors is not None:
            count_errors(response, counts.errors)


class RequestMeter:
    """Records requests into a broker's metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._apis: dict[int, _Api] = {}

    def begin(self, context: RequestContext, frame: memoryview) -> None:
        """A request has come."""
        context.received_ns = perf_counter_ns()
        context.request_bytes = len(frame)

    def end(self, context: RequestContext, request: Message, response: Message | None) -> None:
        """Its answer is queued; None: it gets none."""
        key = context.header.api_key
        api = self._apis.get(key) or self._new_api(key)
        time_us = (perf_counter_ns() - context.received_ns) // 1000
        api.record(time_us, context.request_bytes, response)
        if key == _FETCH:
            kind = api._replace(counts=self._metrics.request(_kind_of_fetch(request)))
            kind.record(time_us, context.request_bytes, response)

    def _new_api(self, key: int) -> _Api:
        counts = self._metrics.request(api_name(ApiKey(key)))
        api = self._apis[key] = _Api(counts, error_counter(response_class(ApiKey(key))))
        return api


def _kind_of_fetch(request: Any) -> str:
    return "FetchConsumer" if replica_id_of(request) < 0 else "FetchFollower"


def error_counter(cls: type[Struct]) -> CountErrors | None:
    """A function that counts every error code in a struct, NONE included; None if it has none."""
    has_own = any(field.name == "error_code" for field in cls.FIELDS)
    inside = [
        (field.name, count)
        for field in cls.FIELDS
        if (inner := _structs_of(field.kind)) and (count := error_counter(inner))
    ]
    if not inside:
        return _count_own if has_own else None

    def count_all(struct: Any, errors: Counter[int]) -> None:
        if has_own:
            errors[struct.error_code] += 1
        for name, count in inside:
            if count is _count_own:  # a partition, most likely: no call for each
                for each in getattr(struct, name) or ():
                    errors[each.error_code] += 1
            else:
                for each in getattr(struct, name) or ():
                    count(each, errors)

    return count_all


def _count_own(struct: Any, errors: Counter[int]) -> None:
    errors[struct.error_code] += 1


def _structs_of(kind: object) -> type[Struct] | None:
    """The class of an array's structs."""
    if isinstance(kind, Array) and isinstance(kind.element, StructKind):
        return kind.element.cls
    return None
