"""How commands look on terminals of 60 and 120 columns: nothing is wider, no word is broken."""

import re
import sys

import pytest

from barnabas.server.cli.output import NOTHING
from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import on_a_terminal, run_apart
from tests.server.cli.test_groups import member

SENTENCE = ": every partition has a leader, and"  # which the terminal wraps
LONG = "audit-of-everything-that-happened-in-the-warehouse.v2"


def lines_at(broker: Broker, width: int, *arguments: str) -> list[str]:
    """The lines that a command prints, without colours."""
    command = [sys.executable, "-m", "barnabas", *arguments]
    printed = on_a_terminal(width, command, BARNABAS_BOOTSTRAP=broker.bootstrap_servers)
    return re.sub(r"\x1b\[[0-9;]*m", "", printed).replace("\r", "").splitlines()


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cluster", "health"), ["check", "well", "data directories", "under-replicated"]),
        (("cluster", "describe"), ["broker", "host", "leads", "behind"]),
        (("topics", "list"), ["topic", "partitions", "replication", "orders"]),
        (("topics", "describe", "orders"), ["partition", "leader", "replicas", "offset", "bytes"]),
        (("topics", "-h"), ["Commands:", "describe", "elect-leaders"]),
        (("configs", "get", "topic", "orders", "--all"), ["name", "value", "read", "retention.ms"]),
    ],
)
def test_nothing_is_wider_than_the_terminal(
    broker: Broker, width: int, arguments: tuple[str, ...], words: list[str]
) -> None:
    for name in ("orders", LONG):
        run_apart(broker.bootstrap_servers)("topics", "create", name, "--if-not-exists")
    lines = lines_at(broker, width, *arguments)
    assert [line for line in lines if len(line) > width and SENTENCE not in line] == []
    for word in words:
        assert any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line) for line in lines), word


def test_a_table_is_a_line_a_row_where_there_is_room(broker: Broker) -> None:
    broker.create_topic("read-by-somebody", 2)
    run_apart(broker.bootstrap_servers)("produce", "read-by-somebody", "-p", "0", stdin="x\n")
    with member(broker, "group-of-somebody", "read-by-somebody"):
        wide = lines_at(broker, 120, "groups", "describe", "group-of-somebody")
        narrow = lines_at(broker, 30, "groups", "describe", "group-of-somebody")
    assert any(re.match(r"group +state +type +assignor +coordinator", line) for line in wide)
    assert sum("a-member" in line for line in wide) == 2
    # No room for a table: a line a column, and those without any value are left out.
    assert "assignor     range" in narrow
    assert sum(line.startswith("partition ") for line in narrow) == 2
    assert not any(line.split()[-1:] == [NOTHING] for line in narrow if "client" in line)
