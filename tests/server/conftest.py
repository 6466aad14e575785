"""A broker for each test file, and a connection to it for each test."""

from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.raw_client import RawClient

# Most records of tests are from 2023, and a slow machine's broker may be five minutes old.
SELDOM = {"log.retention.check.interval.ms": 7 * 86_400_000}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One broker for the tests of a file; they share it, so each uses topics of its own."""
    with Broker(SELDOM) as made:
        yield made


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    """A connection to the file's broker."""
    with RawClient(broker.port) as made:
        yield made
