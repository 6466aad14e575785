"""The pytest plugin that Barnabas ships: brokers as fixtures.

    def test_orders(barnabas_broker):
        producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})

`barnabas_broker` is one broker for the whole session, emptied after every test;
`barnabas_fresh_broker` is a new one for each test. Under pytest-xdist every worker has its
own. Settings for both: the ini option `barnabas_settings`, one name=value a line.

A `pytest11` module is imported before coverage starts, so this one imports the product
inside its functions only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ini option."""
    parser.addini(
        "barnabas_settings", "Broker settings for Barnabas's fixtures, name=value.", "linelist"
    )


@pytest.fixture(scope="session")
def barnabas_settings(request: pytest.FixtureRequest) -> dict[str, object]:
    """Settings of the fixtures' brokers, from the ini option; override it for others."""
    lines = request.config.getini("barnabas_settings")
    pairs = (line.partition("=") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


@pytest.fixture(scope="session")
def barnabas_session_broker(barnabas_settings: dict[str, object]) -> Iterator[Broker]:
    """One broker for the whole session, never emptied."""
    from barnabas.server.testing.broker import Broker

    with Broker(barnabas_settings) as broker:
        yield broker


@pytest.fixture
def barnabas_broker(barnabas_session_broker: Broker) -> Iterator[Broker]:
    """The session's broker, with no topics, groups or faults of other tests."""
    barnabas_session_broker.requests.clear()
    yield barnabas_session_broker
    barnabas_session_broker.clear()


@pytest.fixture
def barnabas_fresh_broker(barnabas_settings: dict[str, object]) -> Iterator[Broker]:
    """A broker of this test's own."""
    from barnabas.server.testing.broker import Broker

    with Broker(barnabas_settings) as broker:
        yield broker
