"""What goes wrong in a history: one thing after the other, as a seed has it.

Some of it is aimed: a leader dies while what it sends is held up, a controller loses the registry
while it is needed. Aimlessly one would wait long for either.

acks=all is good for one disk that loses what was not synced, if somebody else in sync is there to
take over: Kafka elects whoever is left. So after a loss of power the others are spared until the
registry has that broker in no in-sync set, or it has caught up.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from barnabas.server.registry import paths
from barnabas.server.registry.bodies import decode_controller
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.store import Delete, SessionState
from barnabas.server.registry.znodes.tree import PERSISTENT

from .machines import SESSION_MS, Machine
from .network import CLIENT, Network
from .operators import Operator
from .verdict import PARTITIONS, REPLICAS, Verdict

TROUBLE_S: Final = 25.0
PAUSES_S: Final = (0.01, 0.1, 0.5, 2.0)


class Adversary:
    """Of one history; `note` is told what it does."""

    def __init__(
        self,
        machines: Sequence[Machine],
        network: Network,
        ensemble: Ensemble,
        verdict: Verdict,
        operator: Operator,
        chance: random.Random,
        note: Callable[[str], None],
    ) -> None:
        self._machines = machines
        self._network = network
        self._ensemble = ensemble
        self._verdict = verdict
        self._operator = operator
        self._chance = chance
        self._note = note
        self._without_power: Machine | None = None
        self._moves: Sequence[Callable[[], Awaitable[None]]] = (
            self._kill_any, self._kill_leader, self._silence_leader, self._silence_leader,
            self._restart_any,
            self._cut, self._cut, self._break, self._heal_lines, self._suspend,
            self._suspend_controller, self._depose, self._resume,
            self._reassign, self._elect_preferred,
            self._start, self._start, self._start,
            self._wait,
        )  # fmt: skip

    async def trouble(self) -> None:
        """Do harm for a while."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + TROUBLE_S
        while loop.time() < end_s:
            await self._sleep(self._chance.choice(PAUSES_S))
            await self._chance.choice(self._moves)()

    async def heal(self) -> None:
        """Make everything good that can be made good."""
        self._network.heal()
        for machine in self._machines:
            if machine.broker is not None:
                machine.session().resume()
            while machine.broker is None:
                await machine.try_to_start()
                await asyncio.sleep(0.1)

    async def _sleep(self, at_most_s: float) -> None:
        await asyncio.sleep(at_most_s * self._chance.random())

    # Brokers.

    async def _kill_any(self) -> None:
        await self._kill(self._chance.choice(self._machines))

    async def _kill_leader(self) -> None:
        if (leader := self._leader()) is not None:
            await self._kill(leader)

    async def _silence_leader(self) -> None:
        """What it sends to its followers is held up; then it dies."""
        if (leader := self._leader()) is None:
            return
        self._note(f"silence {leader.broker_id}")
        for other in self._machines:
            if other is not leader:
                self._network.cut(leader.broker_id, other.broker_id)
        await self._sleep(1)
        await self._kill(leader)

    async def _kill(self, machine: Machine) -> None:
        if self._is_spared(machine):
            return
        loses_power = self._chance.random() < 0.5 and self._are_all_well()
        self._note(f"kill {machine.broker_id} {loses_power}")
        if loses_power:
            self._without_power = machine
        await machine.kill(self._chance if loses_power else None)

    def _are_all_well(self) -> bool:
        return self._verdict.are_all_in_sync() and all(
            each.session().state is SessionState.ESTABLISHED for each in self._machines
        )

    def _is_spared(self, machine: Machine) -> bool:
        lost = self._without_power
        if lost is None:
            return False
        states = [self._verdict.state_of(index) for index in range(PARTITIONS)]
        trusts = any(state is not None and lost.broker_id in state.isr for state in states)
        if not trusts or self._verdict.are_all_in_sync():
            self._without_power = None
            return False
        return machine is not lost

    async def _start(self) -> None:
        if down := [each for each in self._machines if each.broker is None]:
            machine = self._chance.choice(down)
            self._note(f"start {machine.broker_id}")
            await machine.try_to_start()

    async def _restart_any(self) -> None:
        if up := self._serving():
            await self._restart(self._chance.choice(up))

    async def _restart(self, machine: Machine) -> None:
        if self._is_spared(machine):
            return
        self._note(f"restart {machine.broker_id}")
        await machine.stop()
        await self._sleep(0.5)
        await machine.try_to_start()

    def _leader(self) -> Machine | None:
        state = self._verdict.state_of(self._chance.randrange(PARTITIONS))
        leader = None if state is None or state.leader < 0 else self._machines[state.leader]
        return leader if leader in self._serving() else None

    def _controller(self) -> Machine | None:
        """Whose znode it is."""
        node = self._ensemble.tree.nodes.get(paths.CONTROLLER)
        if node is None or node.data is None:
            return None
        machine = self._machines[decode_controller(node.data).broker_id]
        return machine if machine.is_serving else None

    def _serving(self) -> list[Machine]:
        return [each for each in self._machines if each.is_serving]

    # Lines.

    async def _cut(self) -> None:
        source, target = self._chance.sample(range(CLIENT, len(self._machines)), 2)
        self._note(f"cut {source} {target}")
        self._network.cut(source, target)

    async def _break(self) -> None:
        self._note("break")
        self._network.break_some(0.3)

    async def _heal_lines(self) -> None:
        self._note("heal")
        self._network.heal()

    # Sessions with the registry.

    async def _suspend(self) -> None:
        if up := self._serving():
            self._lose_registry(self._chance.choice(up))

    async def _suspend_controller(self) -> None:
        if (machine := self._controller()) is not None:
            self._lose_registry(machine)

    def _lose_registry(self, machine: Machine) -> None:
        if self._is_spared(machine):
            return
        self._note(f"suspend {machine.broker_id}")
        machine.session().suspend()

    async def _depose(self) -> None:
        """An operator has another controller elected, which the old one is late to hear.

        So does a broker that stops meanwhile, and asks the old one to let others lead.
        """
        old = self._controller()
        others = [each for each in self._serving() if each is not old]
        if old is None or not others:
            return
        session, asks = old.session(), self._chance.choice(others)
        self._note(f"depose {old.broker_id}")
        for other in others:
            self._network.cut(other.broker_id, asks.broker_id)
        session.late_s = 1.0
        self._ensemble.commit(PERSISTENT, ([Delete(paths.CONTROLLER)],))
        await self._sleep(0.2)
        await self._restart(asks)
        session.late_s = 0.0

    async def _reassign(self) -> None:
        index = self._chance.randrange(PARTITIONS)
        replicas = self._chance.sample(range(len(self._machines)), REPLICAS)
        if (controller := self._controller()) is not None:
            self._note(f"reassign {index} to {replicas}")
            await self._operator.reassign(controller.broker_id, index, replicas)

    async def _elect_preferred(self) -> None:
        if (controller := self._controller()) is not None:
            self._note("elect preferred")
            await self._operator.elect_preferred(controller.broker_id)

    async def _resume(self) -> None:
        self._note("resume")
        for machine in self._serving():
            machine.session().resume()

    async def _wait(self) -> None:
        """Long enough for sessions to end, and for the next controller and leader."""
        await asyncio.sleep(1.5 * SESSION_MS / 1000)
