"""The one of several brokers that answers."""

import socket

import barnabas
from barnabas.server.cli.answering import first_to_answer
from tests.server.cli.conftest import run_apart


def test_who_hangs_or_is_gone_is_passed_over() -> None:
    with barnabas.Broker() as broker, socket.create_server(("127.0.0.1", 0)) as silent:
        host, _, port = broker.bootstrap_servers.rpartition(":")
        with socket.create_server(("127.0.0.1", 0)) as closed:
            gone = closed.getsockname()
        here = (host, int(port))
        assert first_to_answer([gone, silent.getsockname(), here]) == here
        listed = f"127.0.0.1:{silent.getsockname()[1]},{broker.bootstrap_servers}"
        run = run_apart(listed)
        outcome = run("topics", "list", "--json")
        assert (outcome.code, outcome.stderr) == (0, "")
        for _ in range(4):  # kafka-python begins with any of the addresses that it is given
            assert run("produce", "t", "--create", stdin="a\n").code == 0
        read = run("consume", "t")
        assert (read.code, read.stdout, read.stderr) == (0, "a\n" * 4, "")


def test_where_nobody_answers_there_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert first_to_answer([silent.getsockname()]) is None
