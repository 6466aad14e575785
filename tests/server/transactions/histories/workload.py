"""Lives one history: producers, markers, time, moves and crashes, as a seed decides.

Every answer of the coordinator is held against the reference's; after every step readers see
all of what is committed below the last stable offset and nothing else; at the end everything is
let through, and nothing may be left open.
"""

import random
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.server.transactions.transaction import ProducerIdAndEpoch
from barnabas.wire.error_codes import ErrorCode

from .ledger import Ledger
from .reference import LAST_EPOCH, NEW, Owner, Reference
from .stage import DATA, PARTITIONS, Stage, Way

NAMES = ("a", "b", "c")
CHECK_MS, EXPIRY_CHECK_MS = 10_000, 3_600_000
EXPIRATION_MS = 7 * 24 * 3_600_000
MOST_SESSIONS = 5
SPANS_MS = (1_000, 1_000, 5_000, 10_000, 30_000, 61_000)
DAYS_MS = 8 * 24 * 3_600_000
NOBODY: Owner = (-1, -1)


@dataclass
class Session:
    """A client: what it was told, and what it has begun."""

    name: str
    protocol: int
    owner: Owner = NOBODY
    added: set[int] = field(default_factory=set)
    sequences: dict[int, int] = field(default_factory=dict)
    asked: tuple[Owner, str] | None = None  # an end whose answer may have been lost

    def told(self, owner: Owner) -> None:
        """Who it is from now on."""
        if owner != self.owner:
            self.owner, self.sequences = owner, {}
        self.added = set()


class History:
    """One seed's."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = random.Random(seed)
        self.stage = Stage(directory)
        self.reference = Reference()
        self.ledger = Ledger()
        self.sessions: list[Session] = []
        self.said: list[str] = []
        self.seen_ids: set[int] = set()
        self.values = self.crashes = 0
        self._restart_timers()

    # Steps.

    def live(self, steps: int) -> None:
        """Take so many steps, then let everything end."""
        self._set_version(self.random.choice((0, 1, 2, 2)))
        if self.random.random() < 0.4:
            self._spend_epochs(self.random.choice(NAMES))
        choices = (
            (self._init, 14), (self._add, 18), (self._write, 30), (self._end, 18),
            (self._ask_again, 5), (self._pass_some_time, 8), (self._change_way, 6),
            (self._move, 5), (self._crash, 3), (self._change_version, 1),
        )  # fmt: skip
        kinds, weights = zip(*choices, strict=True)
        for _ in range(steps):
            self.random.choices(kinds, weights)[0]()
            self._follow()
            self._check_readers()
        self._finish()

    def _session(self) -> Session:
        return self.random.choice(self.sessions) if self.sessions else self._new_session()

    def _new_session(self) -> Session:
        made = Session(self.random.choice(NAMES), self.random.choice((1, 2)))
        self.sessions.append(made)
        if len(self.sessions) > MOST_SESSIONS:
            self.sessions.pop(0)
        return made

    def _is_lost(self) -> bool:
        return self.random.random() < 0.12

    def _init(self, session: Session | None = None) -> None:
        if session is None:
            session = self._new_session() if self.random.random() < 0.5 else self._session()
        known = session.owner if session.owner != NOBODY and self.random.random() < 0.6 else None
        timeout_ms = self.random.choice((5_000, 60_000))
        name, now_ms = session.name, self.stage.clock.now_ms()
        expected = self.reference.init(name, known, timeout_ms, now_ms)
        producer = None if known is None else ProducerIdAndEpoch(*known)
        answer = self.stage.ask(
            self.stage.transactions.init_producer_id(name, timeout_ms, producer)
        )
        self._compare(f"init {session} as {known}", expected, answer)
        if isinstance(answer, ProducerIdAndEpoch):
            self._owned(self.reference.ids[name], "owner", answer)
            if not self._is_lost():
                session.told(tuple(answer))

    def _add(self) -> None:
        session = self._session()
        if session.owner == NOBODY:
            return
        wanted = set(self.random.sample(range(PARTITIONS), self.random.randint(1, PARTITIONS)))
        clock = self.stage.clock
        expected = self.reference.add(
            session.name, session.owner, wanted, session.protocol, clock.now_ms(),
            clock.monotonic_ms(),
        )  # fmt: skip
        answer = self.stage.ask(
            self.stage.transactions.add_partitions(
                session.name, *session.owner, [(DATA, index) for index in wanted],
                2 if session.protocol == 2 else 0,
            )
        )  # fmt: skip
        self._compare(f"add {session} {wanted}", expected, answer)
        if answer is None and not self._is_lost():
            session.added |= wanted

    def _write(self) -> None:
        writing = [each for each in self.sessions if each.added]
        if not writing:
            return self._add()
        session = self.random.choice(writing)
        index = self.random.choice(sorted(session.added))
        sequence = session.sequences.get(index, 0)
        self.values += 1
        text = b"%d" % self.values
        answer = self.stage.write(
            session.name, ProducerIdAndEpoch(*session.owner), index, sequence, text,
            raises_epoch=session.protocol == 2,
        )  # fmt: skip
        state = self.reference.ids.get(session.name)
        self.said.append(f"write {session} {index}: {answer!r}")
        is_open = state is not None and state.phase == "open"
        is_current = is_open and state.owner == session.owner and index in state.partitions
        if isinstance(answer, ErrorCode):
            assert not is_current, f"a producer's record is refused: {answer.name}"
            session.added = set()
            return
        assert is_current or (state is not None and state.phase == "ending"), (
            "a record is taken for which no transaction is open"
        )
        session.sequences[index] = sequence + 1
        self.ledger.wrote(session.owner[0], index, answer, text)

    def _end(self) -> None:
        session = self._session()
        if session.owner != NOBODY:
            direction = self.random.choice(("commit", "commit", "abort"))
            self._ask_end(session, session.owner, direction)

    def _ask_again(self) -> None:
        session = self._session()
        if session.asked is not None:
            self._ask_end(session, *session.asked)

    def _ask_end(self, session: Session, owner: Owner, direction: str) -> None:
        name, now_ms = session.name, self.stage.clock.now_ms()
        expected = self.reference.end(name, owner, direction, session.protocol, now_ms)
        answer = self.stage.ask(
            self.stage.transactions.end(
                name, *owner, direction == "commit", 2 if session.protocol == 2 else 0
            )
        )
        self._compare(f"{direction} {session} as {owner}", expected, answer)
        session.asked, session.added = (owner, direction), set()
        if isinstance(answer, ProducerIdAndEpoch) and session.protocol == 2:
            state = self.reference.ids[name]
            self._owned(state, "after" if state.phase == "ending" else "owner", answer)
            if not self._is_lost():
                session.told(tuple(answer))

    def _owned(self, state: object, where: str, answer: ProducerIdAndEpoch) -> None:
        """The answer names the owner that the reference expects, or a new producer id."""
        expected: Owner = getattr(state, where)
        if expected[0] == NEW:
            assert answer.producer_id not in self.seen_ids, "a producer id comes again"
            self.seen_ids.add(answer.producer_id)
            expected = (answer.producer_id, expected[1])
            setattr(state, where, expected)
        assert tuple(answer) == expected, f"{tuple(answer)} instead of {expected}"

    def _compare(self, what: str, expected: str, answer: object) -> None:
        got = answer.name if isinstance(answer, ErrorCode) else "NONE"
        self.said.append(f"{what}: {got}")
        assert got == expected, f"{what.split()[0]} is told {got} instead of {expected}"

    # What happens to all of them.

    def _pass_some_time(self) -> None:
        is_long = self.random.random() < 0.05
        self._pass_time(DAYS_MS if is_long else self.random.choice(SPANS_MS))

    def _pass_time(self, span_ms: int) -> None:
        self.stage.advance(span_ms)
        clock = self.stage.clock
        now_ms, monotonic_ms = clock.now_ms(), clock.monotonic_ms()
        self.said.append(f"{span_ms} ms pass")
        if self.next_check_ms <= monotonic_ms:
            self.next_check_ms = monotonic_ms + CHECK_MS
            self.reference.time_out(monotonic_ms, now_ms)
        if self.next_expiry_ms <= monotonic_ms:
            self.next_expiry_ms = monotonic_ms + EXPIRY_CHECK_MS
            self.reference.expire(now_ms - EXPIRATION_MS)
            self._pass_time(10)  # the ids are gone through in slices

    def _restart_timers(self) -> None:
        monotonic_ms = self.stage.clock.monotonic_ms()
        self.next_check_ms = monotonic_ms + CHECK_MS
        self.next_expiry_ms = monotonic_ms + EXPIRY_CHECK_MS

    def _change_way(self) -> None:
        self._set_way(self.random.choice((Way.OPEN, *Way)))

    def _set_way(self, way: Way) -> None:
        self.said.append(f"markers: {way.value}")
        self.stage.set_way(way)
        if way is Way.OPEN:
            self._pass_time(2_000)  # until they are sent again

    def _move(self) -> None:
        self.said.append("the coordinator moves")
        self.stage.move()
        self.reference.moved()

    def _crash(self) -> None:
        self.said.append("crash")
        self.crashes += 1
        self.stage.crash()
        self.reference.moved()
        self._restart_timers()

    def _change_version(self) -> None:
        self._set_version(self.random.choice((0, 1, 2)))

    def _set_version(self, version: int) -> None:
        self.said.append(f"transaction.version {version}")
        self.stage.version = self.reference.version = version

    def _spend_epochs(self, name: str) -> None:
        """Bring an id near its last epoch, as thousands of transactions would."""
        session = Session(name, self.random.choice((1, 2)))
        self.sessions.append(session)
        self._init(session)
        state, epoch = self.reference.ids[name], LAST_EPOCH - self.random.randint(1, 4)
        entry = self.stage.transactions.shards.of(name).entries[name]
        entry.transaction = entry.transaction._replace(producer_epoch=epoch)
        state.owner = (state.owner[0], epoch)
        session.told(NOBODY)
        self._init(session)

    # What follows, and what must hold.

    def _follow(self) -> None:
        for _, producer_id, direction in self.reference.decided:
            self.ledger.decided(producer_id, direction)
        self.reference.decided.clear()
        for name in self.reference.ending(gets_through=self.stage.way is Way.OPEN):
            self.ledger.complete(self.reference.complete(name, self.stage.clock.now_ms()))

    def _check_readers(self) -> None:
        for index in range(PARTITIONS):
            log = self.stage.data(index).log
            undecided = self.ledger.first_undecided(index)
            assert undecided is None or log.last_stable_offset <= undecided, (
                "the last stable offset is past an open transaction"
            )
            seen = self.stage.committed(index)
            expected = self.ledger.committed(index, log.last_stable_offset)
            assert seen == expected, f"readers see {seen} instead of {expected}"

    def _finish(self) -> None:
        """Let everything through and everything time out; then all of it has ended."""
        self._set_way(Way.OPEN)
        self._follow()
        for _ in range(2):
            self._pass_time(120_000)
            self._follow()
        self._check_readers()
        for index in range(PARTITIONS):
            log = self.stage.data(index).log
            assert log.last_stable_offset == log.log_end_offset, "a transaction hangs"
        for name in NAMES:
            session = Session(name, 2)
            self._init(session)
            assert session.owner != NOBODY or self._is_told(session)

    def _is_told(self, session: Session) -> bool:
        """Its answer was lost; the next one is not."""
        while session.owner == NOBODY:
            self._init(session)
        return True


def live(seed: int, steps: int) -> History:
    """Live a seed's history. Raises AssertionError for a broken promise."""
    directory = Path(tempfile.mkdtemp())
    history = History(seed, directory)
    try:
        history.live(steps)
    except BaseException as error:
        error.add_note("\n".join(history.said[-40:]))
        raise
    finally:
        history.stage.end()
        shutil.rmtree(directory)
    return history
