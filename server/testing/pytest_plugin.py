"""The pytest plugin that Barnabas ships: brokers as fixtures.

    def test_orders(barnabas_broker):
        producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})

`barnabas_broker` is one broker for the whole session, emptied after every test;
`barnabas_fresh_broker` is a new one for each test. Under pytest-xdist every worker has its
own. Settings for both: the ini option `barnabas_settings`, one name=value a line. With the
ini option `barnabas_process`, or `--barnabas-process`, they run in processes of their own.

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
    """Add the options."""
    parser.addini(
        "barnabas_settings", "Broker settings for Barnabas's fixtures, name=value.", "linelist"
    )
    told = "Run the brokers of Barnabas's fixtures in processes of their own."
    parser.addini("barnabas_process", told, "bool", default=False)
    parser.getgroup("barnabas").addoption("--barnabas-process", action="store_true", help=told)


@pytest.fixture(scope="session")
def barnabas_settings(request: pytest.FixtureRequest) -> dict[str, object]:
    """Settings of the fixtures' brokers, from the ini option; override it for others."""
    lines = request.config.getini("barnabas_settings")
    pairs = (line.partition("=") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs}


@pytest.fixture(scope="session")
def barnabas_process(request: pytest.FixtureRequest) -> bool:
    """Whether the fixtures' brokers are child processes, from the options; or override it."""
    return bool(
        request.config.getoption("--barnabas-process") or request.config.getini("barnabas_process")
    )


@pytest.fixture(scope="session")
def barnabas_session_broker(
    barnabas_settings: dict[str, object], barnabas_process: bool
) -> Iterator[Broker]:
    """One broker for the whole session, never emptied."""
    from barnabas.server.testing.broker import Broker

    with Broker(barnabas_settings, process=barnabas_process) as broker:
        yield broker


@pytest.fixture
def barnabas_broker(barnabas_session_broker: Broker) -> Iterator[Broker]:
    """The session's broker, with no topics, groups or faults of other tests."""
    barnabas_session_broker.requests.clear()
    yield barnabas_session_broker
    barnabas_session_broker.clear()


@pytest.fixture
def barnabas_fresh_broker(
    barnabas_settings: dict[str, object], barnabas_process: bool
) -> Iterator[Broker]:
    """A broker of this test's own."""
    from barnabas.server.testing.broker import Broker

    with Broker(barnabas_settings, process=barnabas_process) as broker:
        yield broker
