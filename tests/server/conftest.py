"""A broker for each test file, and a connection to it for each test."""

from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.raw_client import RawClient


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One broker for the tests of a file; they share it, so each uses topics of its own."""
    with Broker() as made:
        yield made


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    """A connection to the file's broker."""
    with RawClient(broker.port) as made:
        yield made
