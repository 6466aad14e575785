"""Background work that goes on a file call at a time, when somebody says so.

Each piece of work has a thread, but only one thread of all runs at any time: `Actor.step` lets
one go on up to its next file call and waits for it there. So a seed decides what happens when,
and the same seed does the same again.
"""

import random
import threading
from collections.abc import Callable, Sequence

from barnabas.storage.compaction.job import CompactionEvent, CompactionJob
from barnabas.storage.compaction.process import run_job
from barnabas.storage.disk.fs import FileSystem
from barnabas.storage.manager.disk_work import Done

from ..faulty_disk import Killed
from .memory_disk import MemoryDisk

THREADS = 2
"""As many jobs of the disk worker are under way at once, as in the broker."""
PATIENCE_SECONDS = 60.0


class Actor:
    """Work that stops before each of its file calls."""

    current: "Actor | None" = None
    """The one that runs now; None while it is the broker's own loop."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self.is_over = False
        self._is_killed = False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._is_killed:
                self._work()
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.is_over = True
        self._stopped.release()

    def step(self) -> None:
        """Go on to the next file call, or to the end."""
        Actor.current = self
        self._go.release()
        assert self._stopped.acquire(timeout=PATIENCE_SECONDS), "an actor does not come back"
        Actor.current = None
        if self.is_over:
            self._thread.join()

    def pause(self) -> None:
        """Called before a file call, in the actor's own thread."""
        if not self._is_killed:
            self._stopped.release()
            self._go.acquire()
        if self._is_killed:
            raise Killed

    def kill(self) -> None:
        """End it where it stands."""
        if not self.is_over:
            self._is_killed = True
            before, Actor.current = Actor.current, self
            self._go.release()
            self._thread.join(PATIENCE_SECONDS)
            Actor.current = before


class SteppedCompactor:
    """A compaction process, as far as its files are concerned."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._actor: Actor | None = None
        self._events: list[CompactionEvent] = []

    def submit(self, job: CompactionJob) -> None:
        fs, events = self._stage.fs, self._events

        def work() -> None:
            for event in run_job(fs, job):
                events.append(event)

        self._actor = self._stage.act(work)

    def poll(self) -> list[CompactionEvent]:
        taken = self._events.copy()
        self._events.clear()
        return taken

    def fileno(self) -> int | None:
        return None

    def another(self) -> "SteppedCompactor":
        return SteppedCompactor(self._stage)

    def close(self) -> None:
        """A SIGKILL: nothing is tidied up."""
        if self._actor is not None:
            self._stage.dismiss(self._actor)
            self._actor = None
        self._events = []


class SteppedWorker:
    """The disk worker's threads; what they have done is told when the loop gets round to it."""

    def __init__(self, stage: "Stage") -> None:
        self._stage = stage
        self._waiting: list[tuple[Callable[[], None], Done]] = []
        self._at_work: dict[Actor, tuple[Done, list[OSError | None]]] = {}
        self.finished: list[tuple[Done, OSError | None]] = []

    def __call__(self, work: Callable[[], None], done: Done) -> None:
        self._waiting.append((work, done))
        self._take()

    def _take(self) -> None:
        while self._waiting and len(self._at_work) < THREADS:
            work, done = self._waiting.pop(0)
            outcome: list[OSError | None] = []
            self._at_work[self._stage.act(_keeping(work, outcome))] = done, outcome

    def look(self) -> None:
        """Note what has ended."""
        for actor in [each for each in self._at_work if each.is_over]:
            done, outcome = self._at_work.pop(actor)
            self.finished.append((done, outcome[0]))
        self._take()

    @property
    def is_idle(self) -> bool:
        return not (self._waiting or self._at_work or self.finished)


def _keeping(work: Callable[[], None], outcome: list[OSError | None]) -> Callable[[], None]:
    def keep() -> None:
        try:
            work()
        except OSError as error:
            outcome.append(error)
        else:
            outcome.append(None)

    return keep


class Stage:
    """The machine: a disk, a process of it, and what that has going on in the background.

    Between any two file calls of the loop others go on, and the machine may die; `is_quiet`
    suspends that for checks. `lives` counts the file calls until its death.
    """

    def __init__(self, disk: MemoryDisk, chance: random.Random) -> None:
        self.disk = disk
        self.chance = chance
        self.actors: list[Actor] = []
        self.is_quiet = False
        self.lives: int | None = None
        self.liveliness = 0.2
        self.steps = 0
        disk.before_call = self._before_call
        self.boot()

    def boot(self) -> None:
        self.fs: FileSystem = self.disk.boot()
        self.worker = SteppedWorker(self)
        self.compactor = SteppedCompactor(self)

    def act(self, work: Callable[[], None]) -> Actor:
        actor = Actor(work)
        self.actors.append(actor)
        return actor

    def dismiss(self, actor: Actor) -> None:
        if actor in self.actors:
            self.actors.remove(actor)
        actor.kill()

    def clear(self) -> None:
        """Everything that ran is dead."""
        for actor in self.actors:
            actor.kill()
        self.actors.clear()

    def _before_call(self, name: str) -> None:
        if Actor.current is not None:
            Actor.current.pause()
        elif not self.is_quiet:
            if self.actors and self.chance.random() < self.liveliness:
                self.go_on(self.chance.randint(1, 6))
            self._live()

    def _live(self) -> None:
        self.steps += 1
        if self.lives is not None:
            self.lives -= 1
            if self.lives <= 0:
                self.lives = None
                raise Killed

    def go_on(self, steps: int) -> None:
        """Let those in the background go on, in whatever order chance wants."""
        for _ in range(steps):
            if not self.actors:
                return
            actor = self.chance.choice(self.actors)
            self._live()
            actor.step()
            if actor.is_over:
                self.actors.remove(actor)
                self.worker.look()
                if actor.error is not None:
                    raise actor.error

    def deliver(self, which: Sequence[int] = (0,)) -> bool:
        """Tell the loop of a piece of work that has ended; False if there is none."""
        if not self.worker.finished:
            return False
        done, error = self.worker.finished.pop(0)
        done(error)
        return True
