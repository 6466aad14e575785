"""A registry that cannot be written, as on a full disk."""

import pytest

from barnabas.server.registry.znodes.journal import Journal


class Refusal:
    """Refuses registry writes below some paths, as a full disk would, for so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = "none"
        self.times = 0
        append = Journal.append

        def maybe(journal: Journal, framed: bytes) -> None:
            if self.times and self.path.encode() in framed:
                self.times -= 1
                raise OSError("the disk is full")
            append(journal, framed)

        monkeypatch.setattr(Journal, "append", maybe)

    def next(self, path: str, times: int) -> None:
        self.path, self.times = path, times
