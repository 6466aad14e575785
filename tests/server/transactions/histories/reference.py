"""What the coordinator should answer, in the words of the protocol: small, and of its own.

Nothing is imported from what is tested. The state of a transactional id is kept as a client
would describe it: who owns it, whether a transaction is open or ending, and how the last ended.
Answers are error names; "NONE" comes with an owner, where the request gives one.
"""

from dataclasses import dataclass, field

Owner = tuple[int, int]
LAST_EPOCH = 32_766
NEW = -2
"""A producer id nobody has had: the answer says which."""


@dataclass
class Id:
    """One transactional id."""

    owner: Owner
    timeout_ms: int
    used_ms: int
    phase: str = "idle"  # idle, open, ending
    last: str = ""  # commit or abort: how the last transaction ended, or ends
    partitions: set[int] = field(default_factory=set)
    deadline_ms: float = 0.0
    raised_from: int | None = None  # the epoch that the owner's was raised from, for the owner
    rotated_from: int | None = None  # the producer id that the owner's took over from
    after: Owner | None = None  # who owns it when the end is complete
    speaks_v2: bool = False  # who wrote last raises the epoch with every end
    keeps_rotation: bool = False  # whether the last record has room for `rotated_from`


class Reference:
    """All transactional ids."""

    def __init__(self) -> None:
        self.ids: dict[str, Id] = {}
        self.version = 2
        self.decided: list[tuple[str, int, str]] = []
        """Ends as they are decided: name, producer id, commit or abort."""

    # Requests.

    def init(self, name: str, known: Owner | None, timeout_ms: int, now_ms: int) -> str:
        """A producer begins; NONE leaves its owner in `ids`, with NEW for a new producer id."""
        state = self.ids.get(name)
        if state is None:
            self.ids[name] = Id((NEW, 0), timeout_ms, now_ms)
            self._recorded(self.ids[name])
            return "NONE"
        if state.phase == "ending":
            return "CONCURRENT_TRANSACTIONS"
        if known is not None and known[0] != state.owner[0]:
            if known[0] != state.rotated_from or known[1] < LAST_EPOCH:
                return "PRODUCER_FENCED"
        if state.phase == "open":
            self.fence(name, now_ms)
            return "CONCURRENT_TRANSACTIONS"
        return self._raise_epoch(state, known, timeout_ms, now_ms)

    def _raise_epoch(self, state: Id, known: Owner | None, timeout_ms: int, now_ms: int) -> str:
        producer_id, epoch = state.owner
        is_again = known is not None and known[1] == state.raised_from
        if known is not None and known[1] != epoch and not is_again:
            return "PRODUCER_FENCED"
        if epoch > LAST_EPOCH or (epoch == LAST_EPOCH and not is_again):
            state.owner, state.rotated_from = (NEW, 0), producer_id
            state.raised_from = None if known is None else known[1]
        elif not is_again:
            state.owner, state.rotated_from = (producer_id, epoch + 1), None
            state.raised_from = None if known is None else epoch
        state.last, state.timeout_ms, state.used_ms = "", timeout_ms, now_ms
        self._recorded(state)
        return "NONE"

    def add(
        self,
        name: str,
        owner: Owner,
        partitions: set[int],
        protocol: int,
        now_ms: int,
        monotonic_ms: float,
    ) -> str:
        """Partitions join."""
        if (refusal := self._refuses(name, owner)) is not None:
            return refusal
        state = self.ids[name]
        if state.phase == "open" and partitions <= state.partitions:
            return "NONE"
        if state.phase == "idle":
            state.phase, state.deadline_ms = "open", monotonic_ms + state.timeout_ms
        state.partitions |= partitions
        state.last, state.rotated_from, state.used_ms = "", None, now_ms
        state.speaks_v2 = protocol == 2
        self._recorded(state)
        return "NONE"

    def _refuses(self, name: str, owner: Owner) -> str | None:
        state = self.ids.get(name)
        if state is None:
            return "INVALID_PRODUCER_ID_MAPPING"
        if state.phase == "ending":
            return "CONCURRENT_TRANSACTIONS"
        if owner[0] != state.owner[0]:
            return "INVALID_PRODUCER_ID_MAPPING"
        return None if owner == state.owner else "PRODUCER_FENCED"

    def end(self, name: str, owner: Owner, direction: str, protocol: int, now_ms: int) -> str:
        """The producer ends its transaction."""
        state = self.ids.get(name)
        if state is None:
            return "INVALID_PRODUCER_ID_MAPPING"
        if protocol == 2:
            return self._end_v2(name, state, owner, direction, now_ms)
        return self._end_v1(name, state, owner, direction, now_ms)

    def _end_v1(self, name: str, state: Id, owner: Owner, direction: str, now_ms: int) -> str:
        current = state.owner if state.phase != "ending" else self._ending_owner(state)
        if owner[0] != current[0]:
            return "INVALID_PRODUCER_ID_MAPPING"
        if owner != current:
            return "PRODUCER_FENCED"
        if state.phase == "ending":
            return "CONCURRENT_TRANSACTIONS"
        if state.phase == "idle":
            return "NONE" if state.last == direction else "INVALID_TXN_STATE"
        self._prepare(name, state, direction, state.owner, now_ms)
        state.speaks_v2 = False
        self._recorded(state)
        return "NONE"

    def _ending_owner(self, state: Id) -> Owner:
        """Whose epoch stands with a prepared end: before a rotation that is the very last."""
        assert state.after is not None
        if state.rotated_from is not None:
            return (state.rotated_from, LAST_EPOCH + 1)
        return state.after

    def _end_v2(self, name: str, state: Id, owner: Owner, direction: str, now_ms: int) -> str:
        if state.phase == "ending":
            return "CONCURRENT_TRANSACTIONS"
        producer_id, epoch = state.owner
        is_rotated = (
            state.rotated_from is not None
            and owner == (state.rotated_from, LAST_EPOCH)
            and epoch == 0
        )
        if owner[0] != producer_id and not is_rotated:
            return "INVALID_PRODUCER_ID_MAPPING"
        if state.phase == "idle" and state.last and (is_rotated or owner[1] == epoch - 1):
            return "NONE" if state.last == direction else "INVALID_TXN_STATE"
        if owner != state.owner:
            return "PRODUCER_FENCED"
        if state.phase == "idle" and direction == "commit":
            return "INVALID_TXN_STATE"
        after = (producer_id, epoch + 1) if epoch < LAST_EPOCH else (NEW, 0)
        self._prepare(name, state, direction, after, now_ms)
        state.rotated_from = producer_id if after[0] == NEW else None
        state.raised_from, state.speaks_v2 = epoch, True
        self._recorded(state)
        return "NONE"

    def _prepare(self, name: str, state: Id, direction: str, after: Owner, now_ms: int) -> None:
        state.phase, state.last, state.after, state.used_ms = "ending", direction, after, now_ms
        state.rotated_from = None
        self.decided.append((name, state.owner[0], direction))

    # What happens by itself.

    def fence(self, name: str, now_ms: int) -> None:
        """An open transaction's producer is shut out, and it is aborted."""
        state = self.ids[name]
        producer_id, epoch = state.owner
        self._prepare(name, state, "abort", (producer_id, min(epoch + 1, LAST_EPOCH + 1)), now_ms)
        state.speaks_v2 = self.version == 2
        state.raised_from = epoch if state.speaks_v2 else None
        self._recorded(state)

    def ending(self, *, gets_through: bool) -> list[str]:
        """The ids whose end is complete now: all if markers get through, else what needs none."""
        return [
            name
            for name, state in self.ids.items()
            if state.phase == "ending" and (gets_through or not state.partitions)
        ]

    def complete(self, name: str, now_ms: int) -> int:
        """The end of an id is complete; the producer id that has ended."""
        state = self.ids[name]
        assert state.after is not None
        ended = state.owner[0]
        state.phase, state.owner, state.after = "idle", state.after, None
        state.partitions, state.used_ms = set(), now_ms
        self._recorded(state)
        return ended

    def time_out(self, monotonic_ms: float, now_ms: int) -> None:
        """The coordinator looks for what is open too long."""
        for name, state in self.ids.items():
            if state.phase == "open" and state.deadline_ms < monotonic_ms:
                self.fence(name, now_ms)

    def expire(self, since_ms: int) -> None:
        """It looks for ids that nobody uses."""
        for name, state in list(self.ids.items()):
            if state.phase == "idle" and state.used_ms <= since_ms:
                del self.ids[name]

    def moved(self) -> None:
        """The coordinator knows what is in the records, and no more."""
        for state in self.ids.values():
            state.raised_from = None
            if not state.keeps_rotation:
                state.rotated_from = None

    def _recorded(self, state: Id) -> None:
        state.keeps_rotation = self.version > 0 or state.speaks_v2
