"""The pytest plugin that Barnabas ships: brokers as fixtures.

    def test_orders(barnabas_broker):
        producer = Producer({"bootstrap.servers": barnabas_broker.bootstrap_servers})

`barnabas_broker` is one broker for the whole session, emptied after every test;
`barnabas_fresh_broker` is a new one for each test; `barnabas_cluster` and
`barnabas_fresh_cluster` are several. Under pytest-xdist every worker has its own. Settings for
all: the ini option `barnabas_settings`, one name=value a line. With the ini option
`barnabas_process`, or `--barnabas-process`, they run in processes of their own.

A `pytest11` module is imported before coverage starts, so this one imports the product
inside its functions only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker
    from barnabas.server.testing.cluster import Cluster

Served = TypeVar("Served", "Broker", "Cluster")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.addini(
        "barnabas_settings", "Broker settings for Barnabas's fixtures, name=value.", "linelist"
    )
    parser.addini(
        "barnabas_cluster_brokers", "How many brokers the clusters of the fixtures have.",
        default="3",
    )  # fmt: skip
    told = "Run the brokers of Barnabas's fixtures in processes of their own."
    parser.addini("barnabas_process", told, "bool", default=False)
    parser.getgroup("barnabas").addoption("--barnabas-process", action="store_true", help=told)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A test fails by what the predicates of its faults have raised, even if it looked at none."""
    outcome = yield
    if "barnabas.server.testing.broker" in sys.modules:
        for value in getattr(item, "funcargs", {}).values():
            for broker in _brokers_of(value):
                broker.faults.check()
    return outcome


def _brokers_of(value: object) -> list[Broker]:
    from barnabas.server.testing.broker import Broker
    from barnabas.server.testing.cluster import Cluster

    if isinstance(value, Broker):
        return [value]
    return list(value.brokers) if isinstance(value, Cluster) else []


@pytest.fixture(scope="session")
def barnabas_settings(request: pytest.FixtureRequest) -> dict[str, object]:
    """Settings of the fixtures' brokers, from the ini option; override it for others."""
    lines = request.config.getini("barnabas_settings")
    for line in lines:
        if not line.partition("=")[2]:
            pytest.fail(f"barnabas_settings: {line}: write it as name=value", pytrace=False)
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

    yield from _served(lambda: Broker(barnabas_settings, process=barnabas_process))


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

    yield from _served(lambda: Broker(barnabas_settings, process=barnabas_process))


@pytest.fixture(scope="session")
def barnabas_cluster_brokers(request: pytest.FixtureRequest) -> int:
    """How many brokers the clusters have, from the ini option: three; override it for others."""
    text = request.config.getini("barnabas_cluster_brokers")
    if not text.strip().isdecimal() or int(text) < 1:
        pytest.fail(f"barnabas_cluster_brokers={text}: it is a number from 1", pytrace=False)
    return int(text)


@pytest.fixture(scope="session")
def barnabas_session_cluster(
    barnabas_cluster_brokers: int, barnabas_settings: dict[str, object], barnabas_process: bool
) -> Iterator[Cluster]:
    """One cluster for the whole session, never emptied."""
    from barnabas.server.testing.cluster import Cluster

    yield from _served(
        lambda: Cluster(barnabas_cluster_brokers, barnabas_settings, process=barnabas_process)
    )


@pytest.fixture
def barnabas_cluster(barnabas_session_cluster: Cluster) -> Iterator[Cluster]:
    """The session's cluster, whole: all brokers run, no link is cut, no topics or faults."""
    for broker in barnabas_session_cluster:
        broker.requests.clear()
    yield barnabas_session_cluster
    barnabas_session_cluster.clear()


@pytest.fixture
def barnabas_fresh_cluster(
    barnabas_cluster_brokers: int, barnabas_settings: dict[str, object], barnabas_process: bool
) -> Iterator[Cluster]:
    """A cluster of this test's own."""
    from barnabas.server.testing.cluster import Cluster

    yield from _served(
        lambda: Cluster(barnabas_cluster_brokers, barnabas_settings, process=barnabas_process)
    )


def _served(make: Callable[[], Served]) -> Iterator[Served]:
    """What a fixture yields; settings that cannot be used are one line, not a traceback of ours."""
    from barnabas.server.core.startup import StartFailed
    from barnabas.server.settings.names import ConfigError

    served = make()
    try:
        served.start()
    except ConfigError as error:
        pytest.fail(f"barnabas_settings: {str(error).removeprefix('settings: ')}", pytrace=False)
    except StartFailed as error:
        pytest.fail(f"the broker of a fixture does not start: {error}", pytrace=False)
    try:
        yield served
    finally:
        served.stop()
