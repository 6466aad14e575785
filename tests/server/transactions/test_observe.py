"""The coordinator's figures, and what partitions know of transactions that hang."""

import re
from pathlib import Path

from barnabas.server.observing.exposition import exporter
from barnabas.server.observing.metrics import Metrics
from barnabas.server.transactions.observe import (
    LATE_AFTER_MS,
    observe_late_transactions,
    observe_transactions,
)
from tests.wire.steps import finished

from .coordinator_world import Producer
from .coordinator_world import World as CoordinatorWorld
from .open_transactions import NOW_MS, open_transaction
from .world import World

PAGE = Path(__file__).parents[3] / "docs" / "transactions.md"


def test_what_is_counted(coordinated: CoordinatorWorld) -> None:
    metrics = Metrics()
    observe_transactions(coordinated.transactions, metrics)
    for name, commit in (("a", True), ("b", False), ("c", None), ("d", None)):
        producer = Producer(coordinated, name)
        producer.init()
        if name != "d":
            producer.add()
        if commit is not None:
            producer.end(commit=commit)
    coordinated.advance("71 s")
    text = finished(exporter(metrics)()).value[0].decode()
    shown = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    prefix = "kafka_coordinator_transaction_"
    figures = {
        name.removeprefix(prefix).removesuffix("_total"): float(value)
        for name, value in shown.items()
    }
    assert figures["numtransactionalids"] == 4
    assert figures["numtransactionalidscompleteabort"] == 2
    assert figures["numtransactionalidscompletecommit"] == 1
    assert figures["numtransactionalidsempty"] == 1
    assert figures["numtransactionalidsongoing"] == 0
    assert (figures["committed"], figures["aborted"], figures["timed_out"]) == (1, 2, 1)


def test_a_partition_with_a_transaction_that_nobody_ends_is_late(world: World) -> None:
    metrics = Metrics()
    first, second = (world.lead_topic(name)[0] for name in ("a", "b"))
    now_ms = NOW_MS + 900_000 + LATE_AFTER_MS
    observe_late_transactions((first, second), lambda: now_ms, lambda: 900_000, metrics)
    (source,) = metrics.sources

    def late() -> float:
        ((_, value),) = source.read()
        return value

    assert late() == 0
    open_transaction(first)
    open_transaction(second, now_ms=NOW_MS + 1)
    assert late() == 0
    now_ms += 1
    assert late() == 1
    now_ms += 1
    assert late() == 2
    second.become_follower(2, 1, (0, 1), (1,))
    assert late() == 1


def test_the_documentation_lists_them(coordinated: CoordinatorWorld) -> None:
    metrics = Metrics()
    observe_transactions(coordinated.transactions, metrics)
    observe_late_transactions((), lambda: 0, lambda: 0, metrics)
    told = re.findall(r"^\| `(kafka_\w+)` \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
    assert told == [
        (f"{each.name}_total" if each.kind == "counter" else each.name, each.documentation)
        for each in metrics.sources
    ]
