"""Which route a request takes, and what becomes of one that nobody serves."""

import pytest

from barnabas.server.handlers import HANDLERS, Versions
from barnabas.server.handlers import metadata as metadata_handler
from barnabas.server.network.outcomes import Close
from barnabas.server.routes import Route, Routes
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Encoded
from barnabas.wire.header import RequestHeader


def header(key: int, version: int) -> RequestHeader:
    return RequestHeader(key, version, 7, "me")


def test_a_route_is_made_once_and_leads_to_the_handler_of_its_api() -> None:
    routes = Routes(HANDLERS)
    found = routes.find(header(ApiKey.METADATA, 5))
    assert isinstance(found, Route)
    assert (found.api_key, found.handle) == (ApiKey.METADATA, metadata_handler.handle)
    assert routes.taken == {(ApiKey.METADATA, 5): found}
    found.count += 3
    assert list(routes.counts()) == [(("Metadata", "5"), 3)]


@pytest.mark.parametrize(
    "key, version, reason",
    [
        (9_999, 0, "API key 9999 is not served"),
        (ApiKey.FETCH, 0, "API key 1 is not served"),
        (ApiKey.METADATA, 5, "METADATA version 5 is not served, 1 to 4 are"),
        (ApiKey.METADATA, 0, "METADATA version 0 is not served, 1 to 4 are"),
    ],
)
def test_what_nobody_serves_ends_the_connection(key: int, version: int, reason: str) -> None:
    routes = Routes({ApiKey.METADATA: Versions(1, 4), ApiKey.API_VERSIONS: Versions(0, 4)})
    found = routes.find(header(key, version))
    assert isinstance(found, Close) and found.reason == reason
    assert not routes.taken


def test_api_versions_is_answered_at_any_version() -> None:
    found = Routes({ApiKey.API_VERSIONS: Versions(0, 4)}).find(header(ApiKey.API_VERSIONS, 99))
    assert isinstance(found, Encoded)
    body = bytes(found)
    assert body[4:10] == bytes([0, 0, 0, 7, 0, 35])  # correlation id, UNSUPPORTED_VERSION
    assert body[14:20] == bytes([0, 18, 0, 0, 0, 4])  # the only API named, and its versions
