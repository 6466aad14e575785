"""What goes wrong, and when: one thing after the other, as a seed decides."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from exactly_once.brokers import Broker
from exactly_once.clients import Client
from exactly_once.proxy import NO_TROUBLE, Proxy, Trouble

KINDS_OF_TROUBLE = (
    Trouble(delay=0.3),
    Trouble(lose_request=0.05),
    Trouble(lose_answer=0.05),
    Trouble(close_after=0.1),
    Trouble(delay=0.1, lose_request=0.02, lose_answer=0.03, close_after=0.03),
)
LONGEST_WAIT_S = 2.0


class Nemesis:
    """Does one thing whenever it is asked to."""

    def __init__(self, seed: int, broker: Broker, proxy: Proxy, clients: Sequence[Client]) -> None:
        self.counts: Counter[str] = Counter()
        self._chance = Random(seed)
        self._broker, self._proxy, self._clients = broker, proxy, clients
        self._choices: list[tuple[int, Callable[[], None]]] = [
            (8, self._kill_client),
            (3, self._suspend_client),
            (2, self._kill_broker),
            (7, self._kill_broker_at_an_end),
            (2, self._lose_markers),
            (2, self._cut),
            (5, self._trouble),
        ]

    def strike(self) -> None:
        """Do something."""
        weights = [weight for weight, _ in self._choices]
        (_, choice), *_ = self._chance.choices(self._choices, weights)
        self.counts[choice.__name__.strip("_").replace("_", " ")] += 1
        choice()

    def pause_s(self) -> float:
        """Until the next time."""
        return self._chance.uniform(0.3, 2)

    def _kill_client(self) -> None:
        self._chance.choice(self._clients).kill()

    def _suspend_client(self) -> None:
        producers = [each for each in self._clients if each.part.role != "reader"]
        self._chance.choice(producers).suspend(self._chance.uniform(1, 12))

    def _kill_broker(self) -> None:
        self._broker.kill()
        time.sleep(self._chance.uniform(0, 1))
        self._broker.start()

    def _kill_broker_at_an_end(self) -> None:
        """Between what an end of a transaction is made of, if chance will have it."""
        if self._chance.random() < 0.7:
            self._broker.lose_markers(self._chance)
        self._proxy.wait_for_end(LONGEST_WAIT_S)
        time.sleep(self._chance.choice([0, 0, 0.001, 0.002, 0.005, 0.01]))
        self._kill_broker()

    def _lose_markers(self) -> None:
        self._broker.lose_markers(self._chance)

    def _cut(self) -> None:
        self._proxy.cut()

    def _trouble(self) -> None:
        self._proxy.trouble = self._chance.choice(KINDS_OF_TROUBLE)
        time.sleep(self._chance.uniform(1, 4))
        self._proxy.trouble = NO_TROUBLE
