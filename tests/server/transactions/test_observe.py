"""The coordinator's figures."""

from barnabas.server.observing.exposition import exporter
from barnabas.server.observing.metrics import Metrics
from barnabas.server.transactions.observe import observe_transactions
from tests.wire.steps import finished

from .coordinator_world import Producer, World


def test_what_is_counted(coordinated: World) -> None:
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
