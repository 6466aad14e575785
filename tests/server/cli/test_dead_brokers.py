"""Commands while brokers that were killed still count: whoever is there is asked."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import barnabas
from tests.server.cli.conftest import Run, run_apart

LONG_MS = 600_000


@pytest.fixture
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(3, {"zookeeper.session.timeout.ms": LONG_MS}) as made:
        made.create_topic("t", 3)
        made.wait_for_isr("t", 3)
        yield made


@pytest.fixture
def run(cluster: barnabas.Cluster) -> Run:
    return run_apart(cluster.bootstrap_servers)


def test_health_is_an_exit_code(cluster: barnabas.Cluster, run: Run) -> None:
    well = run("cluster", "health", "--wait", "30", "--json")
    assert (well.code, well.stderr) == (0, "")
    assert [row["check"] for row in well.rows if row["well"]] == [
        "controller", "brokers", "data directories", "offline", "under-replicated",
        "under min ISR",
    ]  # fmt: skip
    killed = next(broker for broker in cluster if broker is not cluster.controller)
    killed.kill()
    ill = run("cluster", "health", "--json")
    assert (ill.code, ill.stderr.startswith("barnabas: the cluster is not well: ")) == (1, True)
    details = {row["check"]: row["detail"] for row in ill.rows if not row["well"]}
    assert details["brokers"] == f"no answer from {killed.broker_id}"


@pytest.mark.parametrize("command", ["health", "describe"])
def test_it_is_waited_for_a_broker_that_comes(command: str) -> None:
    with barnabas.Broker() as broker:
        run = run_apart(broker.bootstrap_servers)
        broker.kill()
        with ThreadPoolExecutor() as threads:
            begun = time.monotonic()
            waiting = threads.submit(run, "cluster", command, "--wait", "60")
            # Who gives up does so within a few seconds; a process takes a second to begin.
            with pytest.raises(TimeoutError):
                waiting.result(4)
            broker.start()
            assert (waiting.result().code, waiting.result().stderr) == (0, "")
            assert time.monotonic() - begun < 60
        broker.kill()
        gone = run("cluster", command, "--wait", "1")
        assert (gone.code, gone.is_one_sentence()) == (1, True)
        assert "no broker at" in gone.stderr


def test_the_wait_goes_on_when_the_broker_that_was_asked_goes() -> None:
    """Whoever answered first was asked to the end, and the command failed with that one's end."""
    with barnabas.Cluster(2) as cluster, ThreadPoolExecutor() as threads:
        cluster.create_topic("t", 1, 2)
        cluster.wait_for_isr("t", 2)
        first = cluster.controller
        second = next(broker for broker in cluster if broker is not first)
        second.stop()  # there is something to wait for
        waiting = threads.submit(
            run_apart(cluster.bootstrap_servers), "cluster", "describe", "--wait", "90"
        )
        first.requests.wait_for("DESCRIBE_CONFIGS", timeout_s=30)
        first.stop()
        second.start()
        second.requests.clear()
        second.requests.wait_for("METADATA", timeout_s=30)
        first.start()
        assert (waiting.result().code, waiting.result().stderr) == (0, "")


def test_who_is_there_is_asked(cluster: barnabas.Cluster, run: Run) -> None:
    run("produce", "t", stdin="a\nb\n")
    alone = cluster.controller
    for broker in cluster:
        if broker is not alone:
            broker.kill()
    for _ in range(2):
        assert [row["broker"] for row in run("cluster", "--json").rows] == [0, 1, 2]
        assert [row["topic"] for row in run("topics", "list", "--json").rows] == ["t"]
    rows = run("topics", "describe", "t", "--json").rows
    assert [row["end_offset"] is None for row in rows] == [
        row["leader"] != alone.broker_id for row in rows
    ]


def test_who_hangs_is_asked_nothing_that_others_may_answer(
    cluster: barnabas.Cluster, run: Run
) -> None:
    silent = next(broker for broker in cluster if broker is not cluster.controller)
    silent.faults.add("drop", client_id="barnabas-command", times=None)
    silent.faults.add("drop", api="API_VERSIONS", times=None)
    alone = run_apart(cluster.controller.bootstrap_servers)
    for _ in range(3):
        outcome = alone("topics", "list", "--json")
        assert (outcome.code, [row["topic"] for row in outcome.rows]) == (0, ["t"])
    assert alone("cluster", "describe", "--check").code == 0


def test_records_are_read_once_there_is_another_leader(cluster: barnabas.Cluster, run: Run) -> None:
    assert run("produce", "t", "--partition", "0", stdin="a\nb\n").code == 0
    former = cluster.leader_of("t")
    former.kill()
    cluster.clock.advance(LONG_MS)
    outcome = run("consume", "t", "--partition", "0")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (0, "a\nb\n", "")
    assert cluster.leader_of("t") is not former
