"""Which handler serves an API at a version, and how its messages are decoded and encoded.

An API nobody serves, or a version outside the handler's range, closes the connection without
an answer, as Kafka does; only ApiVersions is answered at any version (KIP-511).
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from barnabas.server.handlers import HANDLERS, Versions
from barnabas.server.network.outcomes import Close
from barnabas.server.observing.metrics import Values
from barnabas.server.requests.context import RequestContext
from barnabas.wire.api import ApiKey, api_name, request_class
from barnabas.wire.connection import Encoded, ResponseEncoder, encode_response
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.header import RequestHeader

_API_VERSIONS: Final = int(ApiKey.API_VERSIONS)


class Route:
    """One API at one version."""

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


class Routes:
    """The routes of one broker; `taken` are those that a request has taken so far."""

    __slots__ = ("_served", "taken")

    def __init__(self, served: Mapping[ApiKey, Versions]) -> None:
        self._served = served
        self.taken: dict[tuple[int, int], Route] = {}

    def counts(self) -> Values:
        """The requests so far, by API and version."""
        taken = self.taken.items()
        return [((api_name(ApiKey(k)), str(v)), route.count) for (k, v), route in taken]

    def find(self, header: RequestHeader) -> Route | Encoded | Close:
        """The route of a first request of its kind, or what is done where nobody serves it."""
        key, version = header.api_key, header.api_version
        served = self._served.get(ApiKey(key)) if key in _KEYS else None
        if served is None:
            return Close(f"API key {key} is not served", is_misuse=True)
        if not served.first <= version <= served.last:
            if key == _API_VERSIONS:
                return self._unsupported_api_versions(header)
            return Close(
                f"{ApiKey(key).name} version {version} is not served, "
                f"{served.first} to {served.last} are",
                is_misuse=True,
            )
        module = import_module(f"barnabas.server.handlers.{ApiKey(key).name.lower()}")
        route = self.taken[key, version] = Route(ApiKey(key), version, module)
        return route

    def _unsupported_api_versions(self, header: RequestHeader) -> Encoded:
        """Error 35 in version 0, whatever the body held, naming the versions to try (KIP-511)."""
        from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse

        served = self._served[ApiKey.API_VERSIONS]
        response = ApiVersionsResponse(
            error_code=int(ErrorCode.UNSUPPORTED_VERSION),
            api_keys=[
                ApiVersion(api_key=_API_VERSIONS, min_version=served.first, max_version=served.last)
            ],
        )
        return encode_response(_API_VERSIONS, 0, header.correlation_id, response)


_KEYS = frozenset(int(key) for key in HANDLERS)
