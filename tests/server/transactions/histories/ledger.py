"""What producers were told they had written, and what became of it: what readers must see."""

from dataclasses import dataclass, field


@dataclass
class Txn:
    """One transaction; `fate` is commit or abort once that is decided."""

    fate: str = ""


@dataclass(frozen=True)
class Value:
    """One record that was acknowledged."""

    offset: int
    text: bytes
    txn: Txn


@dataclass
class Ledger:
    """By partition, in the order of the log."""

    values: dict[int, list[Value]] = field(default_factory=dict)
    _open: dict[int, Txn] = field(default_factory=dict)
    _ending: dict[int, Txn] = field(default_factory=dict)

    def wrote(self, producer_id: int, index: int, offset: int, text: bytes) -> None:
        """A record of the producer's transaction, or of one that is being ended."""
        txn = self._ending.get(producer_id)
        if txn is None:
            txn = self._open.setdefault(producer_id, Txn())
        self.values.setdefault(index, []).append(Value(offset, text, txn))

    def decided(self, producer_id: int, fate: str) -> None:
        """The producer's transaction ends like that."""
        txn = self._open.pop(producer_id, Txn())
        txn.fate = fate
        self._ending[producer_id] = txn

    def complete(self, producer_id: int) -> None:
        """What was ending has ended: what comes next is the next transaction."""
        self._ending.pop(producer_id, None)

    def first_undecided(self, index: int) -> int | None:
        """Where readers of committed records have to wait at the latest."""
        return next((v.offset for v in self.values.get(index, ()) if not v.txn.fate), None)

    def committed(self, index: int, before: int) -> list[bytes]:
        """What they must see, and nothing else, below an offset."""
        return [
            value.text
            for value in self.values.get(index, ())
            if value.txn.fate == "commit" and value.offset < before
        ]
