"""One history: a cluster, its clients, what goes wrong, and what must be true afterwards.

All of it follows from the seed.
"""

import asyncio
import random
import traceback
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

from tests.server.waiting import eventually

from .adversary import Adversary
from .clients import TOPIC, Cluster, Consumer, History, Producer
from .distant_registry import DistantEnsemble
from .machines import START_MS, Machine, VirtualClock
from .network import Network
from .operators import Operator
from .verdict import BROKERS, PARTITIONS, REPLICAS, Verdict
from .virtual_loop import Stuck, VirtualLoop
from .watching import Watching

PROTOCOLS: Final = ("3.9", "3.9", "3.9", "2.6")
"""Of `inter.broker.protocol.version`, by seed: before 2.7 logs are truncated another way."""
RECORDS: Final = 40
HEALED_WITHIN_S: Final = 120.0
LOOK_EVERY_S: Final = 0.02


@dataclass(frozen=True)
class Outcome:
    """How a history ended."""

    seed: int
    faults: tuple[str, ...]
    digest: str
    """Of all that was sent, done and read."""
    log: tuple[str, ...]
    simulated_s: float


def simulate(seed: int) -> Outcome:
    """Run the history of a seed."""
    random.seed(seed)  # placement of replicas, ids of sessions
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        with (
            patch("os.urandom", random.randbytes),  # ids of clusters and topics
            patch("time.monotonic", loop.time),
            patch("time.perf_counter_ns", lambda: int(loop.time() * 1e9)),
        ):
            simulation = Simulation(seed, loop)
            simulation.run()
        return simulation.outcome()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


class Simulation:
    """The world of one seed."""

    def __init__(self, seed: int, loop: VirtualLoop) -> None:
        self._seed = seed
        self._loop = loop
        self._chance = random.Random(seed)
        self._network = Network(loop, random.Random(seed + 1))
        self._ensemble = DistantEnsemble(
            self._network, random.Random(seed + 2), lambda: START_MS + int(loop.time() * 1000)
        )
        self._history = History()
        self._faults = self._history.faults
        protocol = PROTOCOLS[seed % len(PROTOCOLS)]
        self._machines = [
            Machine(number, self._network, self._ensemble, self._faults, protocol)
            for number in range(BROKERS)
        ]
        self._verdict = Verdict(self._machines, self._ensemble, self._history)
        self._watching = Watching(self._ensemble, self._history, PARTITIONS)
        self._producers: list[Producer] = []
        self._log: list[str] = []

    def run(self) -> None:
        """The whole of it, and what an endless loop leaves behind."""
        try:
            self._loop.run_until_complete(self._run())
        except Stuck as error:
            self._faults.append(f"{error}; {self._tasks()}")
        finally:
            self._loop.bound()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(1))

    def outcome(self) -> Outcome:
        """What came of it."""
        digest = self._network.traffic.copy()
        digest.update(repr((self._log, sorted(self._history.read.items()))).encode())
        faults = tuple(dict.fromkeys(self._faults))
        now_s = self._loop.time()
        return Outcome(self._seed, faults, digest.hexdigest(), tuple(self._log), now_s)

    async def _run(self) -> None:
        for machine in self._machines:
            await machine.start()
        await self._make_topic()
        tasks = [asyncio.create_task(each) for each in (self._look(), *self._clients())]
        for task in tasks:
            task.add_done_callback(self._ended)
        adversary = Adversary(
            self._machines, self._network, self._ensemble, self._verdict, self._operator(),
            self._chance, self._note,
        )  # fmt: skip
        try:
            await adversary.trouble()
            await adversary.heal()
            await self._settle()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._verdict.give()
        for machine in self._machines:
            await machine.kill()

    async def _make_topic(self) -> None:
        broker = self._machines[0].broker
        assert broker is not None
        await eventually(
            lambda: broker.controller.is_active and len(broker.metadata.brokers) == BROKERS
        )
        topics = broker.topics
        await topics.create(TOPIC, topics.place(PARTITIONS, REPLICAS), {})
        await topics.wait_until_served(TOPIC, 10_000, PARTITIONS)

    def _operator(self) -> Operator:
        return Operator(Cluster(self._network, self._clock(), list(range(BROKERS))))

    def _clock(self) -> VirtualClock:
        return VirtualClock(self._loop, lambda error: self._faults.append(repr(error)))

    def _clients(self) -> Iterator[Coroutine[Any, Any, None]]:
        clock = self._clock()
        ids = list(range(BROKERS))
        for partition in range(PARTITIONS):
            for number in range(2):
                cluster = Cluster(self._network, clock, ids[number:] + ids[:number])
                name = f"p{partition}{number}"
                producer = Producer(name, partition, cluster, self._history, self._verdict.leads)
                self._producers.append(producer)
                yield producer.run(RECORDS, self._chance.uniform(0.01, 0.5))
            cluster = Cluster(self._network, clock, list(ids))
            yield Consumer(partition, cluster, self._history).run()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Clients end when they are done; anything else is a fault, of theirs or of a broker."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._faults.append("".join(traceback.format_exception(error)))

    async def _look(self) -> None:
        while True:
            self._watching.look(self._machines)
            await asyncio.sleep(LOOK_EVERY_S)

    def _note(self, what: str) -> None:
        self._log.append(f"{self._loop.time():.4f} {what}")

    async def _settle(self) -> None:
        """Wait until everything that was begun has ended, and everybody is in sync."""
        end_s = self._loop.time() + HEALED_WITHIN_S
        while not self._is_settled():
            if self._loop.time() > end_s:
                waiting = [each.last for each in self._producers if not each.is_done]
                self._faults.append(f"stuck: {'; '.join(waiting)}; {self._verdict.describe()}")
                return
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)

    def _is_settled(self) -> bool:
        return all(each.is_done for each in self._producers) and self._verdict.are_all_in_sync()

    def _tasks(self) -> str:
        """Where every coroutine is."""
        places: list[str] = []
        for task in asyncio.all_tasks(self._loop):
            for frame in task.get_stack(limit=1):
                places.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return " ".join(sorted(places))
