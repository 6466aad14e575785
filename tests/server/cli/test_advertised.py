"""A broker that is reached, and sends its clients to an address where nobody is."""

import socket

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import run_apart


@pytest.fixture
def nobody() -> str:
    """An address of this machine that refuses connections."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize(
    "command",
    [("topics", "list"), ("consume", "t"), ("produce", "t"), ("cluster", "describe")],
    ids=" ".join,
)
def test_the_error_names_the_advertised_address(command: tuple[str, ...], nobody: str) -> None:
    with Broker({"advertised.listeners": f"PLAINTEXT://{nobody}"}) as broker:
        outcome = run_apart(broker.bootstrap_servers)(*command, stdin="x\n")
    assert outcome.code == 1
    assert outcome.is_one_sentence()
    assert outcome.stderr.strip() == (
        f"barnabas: the broker at {broker.bootstrap_servers} sends its clients to {nobody}"
        " (connection refused); its `advertised.listeners` must be an address that they reach"
    )


def test_a_name_that_does_not_resolve_is_named_too() -> None:
    with Broker({"advertised.listeners": "PLAINTEXT://nowhere.invalid:9092"}) as broker:
        outcome = run_apart(broker.bootstrap_servers)("topics", "list")
    assert outcome.code == 1
    assert " sends its clients to nowhere.invalid:9092 (" in outcome.stderr
    assert "`advertised.listeners`" in outcome.stderr


def test_a_broker_that_hangs_is_said_to_hang() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        outcome = run_apart(where)("topics", "list")
    assert outcome.code == 1
    assert f"the broker at {where} does not answer" in outcome.stderr
