"""A refused request is told so at every version of every API, wherever that has room for it."""

from collections.abc import Iterator

import pytest

from barnabas.server.handlers import HANDLERS
from barnabas.server.testing.broker import Broker
from barnabas.wire.api import ApiKey
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.schema import Struct
from tests.server.raw_client import RawClient
from tests.server.sensible_requests import World, request_of

REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
# Before version 3 the answer has room for an error of a directory, and Kafka has none for this.
SAYS_NOTHING = {(ApiKey.DESCRIBE_LOG_DIRS, version) for version in range(3)}
SAYS_NOTHING.add((ApiKey.CONTROLLED_SHUTDOWN, 0))  # names no client: it is not one that is refused


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with Broker() as broker:
        broker.faults.add("error", times=None, client_id="refused", error=REFUSED)
        yield World(broker)


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: str(key.name))
def test_a_refusal_is_in_the_answer(world: World, key: ApiKey) -> None:
    first, last = HANDLERS[key]
    silent = set()
    for version in range(first, last + 1):
        request = request_of(world, key, version)
        with RawClient(world.broker.port, "refused") as client:
            answer = client.call(request, version)
        if int(REFUSED) not in set(codes_in(answer)):
            silent.add((key, version))
    assert silent == {each for each in SAYS_NOTHING if each[0] is key}


def codes_in(struct: Struct) -> Iterator[int]:
    """Every error code of an answer, at its top and inside."""
    for each in struct.FIELDS:
        value = getattr(struct, each.name)
        if each.name.endswith("error_code"):
            yield value
        for inner in value if isinstance(value, list) else ():
            if isinstance(inner, Struct):
                yield from codes_in(inner)
