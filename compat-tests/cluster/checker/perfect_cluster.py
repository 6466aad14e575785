"""Histories of a cluster that does no wrong, as a seed decides: for tests to plant faults in."""

from __future__ import annotations

from random import Random

from exactly_once.checker.history import Place

from cluster.checker.history import Event

PLACES = (Place("plain", 0), Place("plain", 1), Place("idempotent", 0), Place("idempotent", 1))
PRODUCERS = {"a#1": "plain", "b#1": "idempotent", "c#1": "idempotent"}
GROUP = "watchers"
REPLICAS = [1, 2, 3]


class PerfectCluster:
    """Does one thing after the other and notes what its clients would."""

    def __init__(self, random: Random) -> None:
        self.events: list[Event] = []
        self._random = random
        self._now = 0
        self._logs: dict[Place, list[str]] = {place: [] for place in PLACES}
        self._sent = dict.fromkeys(PRODUCERS, 0)
        self._positions = dict.fromkeys(PLACES, 0)
        self._committed = dict.fromkeys(PLACES, 0)
        self._states = {place: (1, 0, REPLICAS) for place in PLACES}
        for name, kind in PRODUCERS.items():
            self._note("producer", p=name, kind=kind, t=kind)
        for place in PLACES:
            self._elect(place, 1)

    def _note(self, event: str, **fields: object) -> None:
        self._now += 1
        self.events.append({"e": event, "at": self._now, **fields})

    def _at(self, place: Place) -> dict[str, object]:
        return {"t": place.topic, "q": place.partition}

    def step(self) -> None:
        """Something."""
        place = self._random.choice(PLACES)
        self._random.choice([self._send, self._send, self._send, self._poll, self._resume])(place)
        if self._random.random() < 0.05:
            self._elect(place, self._random.choice([-1, 1, 2, 3]))

    def _send(self, place: Place) -> None:
        """Acknowledged, or without an answer and there or not; plain ones may be doubled."""
        name = self._random.choice([p for p, kind in PRODUCERS.items() if kind == place.topic])
        self._sent[name] += 1
        number, log = self._sent[name], self._logs[place]
        is_acked, is_there = self._random.random() < 0.8, self._random.random() < 0.5
        if is_acked or is_there:
            log.append(f"{name}/{number}")
            if place.topic == "plain" and self._random.random() < 0.1:
                log.append(f"{name}/{number}")
        if is_acked:
            offset = len(log) - 1 if self._random.random() < 0.9 else -1
            self._note("acked", p=name, n=number, q=place.partition, o=offset)
        else:
            self._note("failed", p=name, n=number, error="timed out")

    def _poll(self, place: Place) -> None:
        """A member reads, and commits, with or without an answer."""
        log, position = self._logs[place], self._positions[place]
        end = min(len(log), position + self._random.randrange(1, 6))
        if position == end:
            return
        records = [[offset, log[offset]] for offset in range(position, end)]
        self._note("poll", c="m", g=GROUP, r=records, **self._at(place))
        self._positions[place] = end
        if self._random.random() < 0.8:
            self._committed[place] = end
            if self._random.random() < 0.9:
                self._note("committed", c="m", g=GROUP, o=end, **self._at(place))

    def _resume(self, place: Place) -> None:
        """Another member takes over: it goes on from what is committed."""
        at = self._positions[place] = self._committed[place]
        self._note("resumed", c="m", g=GROUP, o=at, asked=self._now, **self._at(place))

    def _elect(self, place: Place, leader: int) -> None:
        _, epoch, isr = self._states[place]
        if leader > 0:
            isr = sorted({leader, *self._random.sample(REPLICAS, self._random.randrange(1, 4))})
        self._states[place] = leader, epoch + 1, isr
        told = {"leader": leader, "leader_epoch": epoch + 1, "isr": isr, "replicas": REPLICAS}
        self._note("state", controller_epoch=1 + self._now // 50, **told, **self._at(place))

    def end(self) -> list[Event]:
        """Everything is read to the end, by the group and at last."""
        for place, log in self._logs.items():
            while self._positions[place] < len(log):
                self._poll(place)
            records = [list(each) for each in enumerate(log)]
            self._note("final", r=records, end=len(log), **self._at(place))
            at = max(self._committed[place], self._positions[place])
            self._note("group", g=GROUP, o=at, asked=self._now, **self._at(place))
        return self.events


def random_history(random: Random, steps: int) -> list[Event]:
    """Of a cluster that has done nothing wrong."""
    cluster = PerfectCluster(random)
    for _ in range(steps):
        cluster.step()
    return cluster.end()
