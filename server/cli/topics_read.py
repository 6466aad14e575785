"""Whether the topics that somebody reads are still there.

A consumer of kafka-python's asks for the records of a topic that was deleted for ever, and for
its metadata as often: that this lacks the topic is all that tells of it.
"""

import time
from collections.abc import Iterable
from typing import Any

from barnabas.server.cli.failures import Failure
from barnabas.server.cli.output import note

GONE_S = 2.5  # for so long metadata may lack a topic that is there


class Topics:
    """The topics that a consumer reads, and those of them that were deleted.

    Who follows goes on when a topic of that name is made again; who reads to the end of what
    there was has nothing to look for in the new one, and might wait for its end for ever.
    """

    def __init__(self, consumer: Any, names: Iterable[str], *, follow: bool) -> None:
        self._cluster, self._follow = consumer._cluster, follow
        self._seen_s = dict.fromkeys(sorted(names), time.monotonic())
        self._ids: dict[str, object] = {}
        self.gone: list[str] = []

    @property
    def left(self) -> list[str]:
        """Those that were not deleted."""
        return list(self._seen_s)

    @property
    def is_one_in_doubt(self) -> bool:
        """Whether metadata lacks one just now: a group has shared out the others alone then."""
        return not all(map(self._cluster.partitions_for_topic, self._seen_s))

    def keep(self, names: set[str]) -> None:
        """Forget those that are read to their ends."""
        self._seen_s = {name: seen_s for name, seen_s in self._seen_s.items() if name in names}

    def look(self) -> list[str]:
        """Those that are gone since the last look; who follows is told. Failure when all are."""
        found = [name for name in self._seen_s if not self._is_there(name)]
        for name in found:
            del self._seen_s[name]
        self.gone += found
        if found and not self._seen_s:
            raise Failure(_in_words(found if self._follow else self.gone))
        if found and self._follow:
            note(_in_words(found))
        return found

    def check(self) -> None:
        """Failure where some were deleted, for who could not read them to their ends."""
        if self.gone:
            raise Failure(_in_words(self.gone))

    def _is_there(self, name: str) -> bool:
        """Until metadata that is new enough says otherwise."""
        if self._cluster.partitions_for_topic(name):
            self._seen_s[name] = time.monotonic()
            number = self._cluster.topic_id(name)
            return self._follow or number == self._ids.setdefault(name, number)
        heard_s = self._cluster._last_successful_refresh_ms / 1000
        return bool(heard_s - self._seen_s[name] <= GONE_S)


def _in_words(names: list[str]) -> str:
    if len(names) == 1:
        return f"the topic {names[0]} was deleted"
    return f"the topics {', '.join(names)} were deleted"
