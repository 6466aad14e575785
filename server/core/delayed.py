"""Delayed operations: requests that wait until something holds or their time is up.

Kafka calls this a purgatory. A wait hangs under the keys whose events may satisfy it (a
partition, a group, a topic's name); whoever changes such a thing calls `complete(key)`, which
asks every wait of that key whether it is ready now. Nothing polls, an event that nobody waits
for costs one dictionary look-up, and a finished wait leaves every key at once: what is held is
the waits in progress and nothing else, so the number of connections bounds it.

    waiting --is_ready(key) holds, or hurry()--> finished --resume--> answer built and sent
    waiting --timeout_ms passed--> finished, `expired` set --resume--> answer built and sent
    waiting --cancel() (connection closed)--> dropped, nothing is resumed

Whoever completes several keys by one action (a produce to many partitions) first does the whole
action and then completes the keys, so that a woken fetch finds all of it.

Whoever parks what was found not ready some turns ago (`turns`) looks once more, with `look_again`:
an event that came in between has woken nobody.
"""

from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Any, Generic, TypeVar

from barnabas.server.core.clock import Clock, Timer

T = TypeVar("T")


class Deferred(Generic[T]):
    """An answer that comes later: whoever holds it calls `give` once.

    After `cancel` (the client is gone) it is given in vain. Of a request that `has_acted` only the
    answer waits: all it does is done.
    """

    __slots__ = ("_resume", "answer", "done", "has_acted")

    def __init__(self) -> None:
        self._resume: Callable[[Any], object] | None = None
        self.answer: Callable[[], T] = _no_answer
        self.done = False
        self.has_acted = False

    def then(self, resume: Callable[[Any], object]) -> None:
        """Call `resume(self)` when the answer is there: at once if it already is."""
        if self.done:
            resume(self)
        else:
            self._resume = resume

    def give(self, response: T) -> None:
        """Here is the answer; a second one is ignored."""
        if not self.done:
            self.answer = lambda: response
            self._finish()

    def give_way(self) -> None:
        """Another request waits behind; an answer that somebody else gives cannot be hurried."""

    def cancel(self) -> None:
        """Nobody waits any more: nothing will be resumed."""
        if not self.done:
            self._resume = None
            self._finish()

    def _finish(self) -> None:
        self.done = True
        resume, self._resume = self._resume, None
        if resume is not None:
            resume(self)


def _no_answer() -> Any:
    raise RuntimeError("this answer has not been given yet")


class Wait(Deferred[T]):
    """One waiting operation; made by `Delayed.park`.

    `answer` is called once, by whoever resumes the wait, after `expired` has been settled. One
    that `gives_way` finishes when another request waits behind it, as a long poll does.
    """

    __slots__ = ("_delayed", "_keys", "_timer", "expired", "gives_way", "is_ready")

    def __init__(
        self,
        delayed: "Delayed",
        keys: tuple[Hashable, ...],
        is_ready: Callable[[Hashable], bool],
        answer: Callable[[], T],
    ) -> None:
        super().__init__()
        self._delayed = delayed
        self._keys = keys
        self._timer: Timer | None = None
        self.is_ready = is_ready
        self.answer = answer
        self.expired = False
        self.gives_way = False

    def give_way(self) -> None:
        """Another request waits behind."""
        if self.gives_way:
            self.hurry()

    def hurry(self) -> None:
        """Finish now, whatever holds."""
        if not self.done:
            self._finish()

    def _expire(self) -> None:
        self.expired = True
        self._delayed.expired_count += 1
        self._finish()

    def _finish(self) -> None:
        self.done = True
        self._delayed._forget(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super()._finish()


class Delayed:
    """The waits of one kind of operation ("Fetch", "Produce", "Rebalance", ...)."""

    def __init__(self, clock: Clock, name: str) -> None:
        self.name = name
        self.expired_count = 0
        self._clock = clock
        self._by_key: dict[Hashable, dict[Wait[Any], None]] = {}
        self._waits = 0

    def __len__(self) -> int:
        """How many operations are waiting."""
        return self._waits

    def park(
        self,
        keys: Iterable[Hashable],
        timeout_ms: float,
        is_ready: Callable[[Hashable], bool],
        answer: Callable[[], T],
    ) -> Wait[T]:
        """A wait under `keys` for at most `timeout_ms`; the caller has found it not ready yet.

        `is_ready` is asked with the key that had an event, so it need not look at the others.
        If it raises, the wait is finished and `answer` is left to meet the error. Without a key
        nobody could ever wake it: it is finished at once.
        """
        wait = Wait(self, tuple(dict.fromkeys(keys)), is_ready, answer)
        by_key = self._by_key
        for key in wait._keys:
            waits = by_key.get(key)
            if waits is None:
                by_key[key] = {wait: None}
            else:
                waits[wait] = None
        self._waits += 1
        if wait._keys:
            wait._timer = self._clock.call_later(timeout_ms, wait._expire)
        else:
            wait._finish()
        return wait

    def complete(self, key: Hashable) -> int:
        """Something happened to `key`: finish the waits that are ready now, and count them."""
        waits = self._by_key.get(key)
        if waits is None:
            return 0
        finished = 0
        for wait in tuple(waits):
            if not wait.done and _is_ready(wait, key):
                wait._finish()
                finished += 1
        return finished

    def complete_all(self, key: Hashable) -> int:
        """Finish every wait of `key` without asking: the thing itself is gone."""
        waits = tuple(self._by_key.get(key, ()))
        for wait in waits:
            wait.hurry()
        return len(waits)

    def cancel_all(self) -> None:
        """Drop every wait, when the broker stops."""
        for waits in tuple(self._by_key.values()):
            for wait in tuple(waits):
                wait.cancel()

    def is_watched(self, key: Hashable) -> bool:
        """Whether anything waits under `key`."""
        return key in self._by_key

    def _forget(self, wait: Wait[Any]) -> None:
        self._waits -= 1
        by_key = self._by_key
        for key in wait._keys:
            waits = by_key[key]
            if len(waits) == 1:
                del by_key[key]
            else:
                del waits[wait]


def look_again(wait: Wait[T]) -> Generator[None, None, Wait[T]]:
    """Ask a wait about each of its keys, in steps: what has happened before it was parked."""
    for key in wait._keys:
        if not wait.done and _is_ready(wait, key):
            wait.hurry()
        if wait.done:
            break
        yield
    return wait


def _is_ready(wait: Wait[Any], key: Hashable) -> bool:
    try:
        return wait.is_ready(key)
    except Exception:  # the answer meets the same trouble, where dispatch reports it
        return True
