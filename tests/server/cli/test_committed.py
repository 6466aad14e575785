"""`consume` beside transactions: where it ends, and what it counts."""

import pytest

from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import Run
from tests.server.cli.test_transactions import transaction


@pytest.mark.parametrize("option", ["--committed", "--client=isolation.level=read_committed"])
def test_committed_records_are_read_beside_an_open_transaction(
    run: Run, broker: Broker, option: str
) -> None:
    """The end was the high watermark, which such a reader does not get to before it is closed."""
    topic = f"beside{option[2:8]}"
    broker.create_topic(topic, 1)
    run("produce", topic, stdin="a\n")
    with transaction(broker, "open", topic):
        run("produce", topic, stdin="b\n")
        assert run("consume", topic, option).stdout == "a\n"
        assert run("consume", topic, option, "--tail", "1").stdout == "a\n"
        assert run("consume", topic, option, "--to", "3").stdout == "a\n"
        assert run("consume", topic, option, "--from", "1970-01-02").stdout == "a\n"
        assert run("consume", topic, option, "--group", "beside").stdout == "a\n"
        assert run("consume", topic).stdout == "a\nv\nb\n"
    assert run("consume", topic, option).stdout == "a\nb\n"


def test_the_tail_is_as_long_as_was_asked_for_beside_offsets_without_records(
    run: Run, broker: Broker
) -> None:
    """Aborted records and ends of transactions were counted as records."""
    broker.create_topic("gaps", 1)
    run("produce", "gaps", stdin="".join(f"{n}\n" for n in range(10)))
    for number in range(5):
        with transaction(broker, f"aborted-{number}", "gaps"):
            pass
    assert run("consume", "gaps", "--committed", "--tail", "3").stdout == "7\n8\n9\n"
    assert run("consume", "gaps", "--committed", "--tail", "99").stdout.split() == [*"0123456789"]
    assert run("consume", "gaps", "--committed", "--tail", "3", "--from", "8").stdout == "8\n9\n"
    assert run("consume", "gaps", "--tail", "3").stdout == "v\nv\nv\n"
