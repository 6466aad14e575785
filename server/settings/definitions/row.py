"""One setting as a row of a table: what Kafka 3.9.1 defines, and where 4.4 differs."""

from collections.abc import Set
from typing import Any, Final, NamedTuple, TypedDict

from barnabas.storage.setting_types import UNLIMITED, Kind, Limit

READ_ONLY: Final = "read-only"
PER_BROKER: Final = "per-broker"
CLUSTER_WIDE: Final = "cluster-wide"
"""How a setting may change at run time; what may for the cluster may for one broker, too."""

HIGH: Final = "high"
MEDIUM: Final = "medium"
LOW: Final = "low"

INTERNAL: Final = "internal"
"""Not shown."""
ONLY_3_9: Final = "3.9-only"
ONLY_4_4: Final = "4.4-only"
DYNAMIC_ONLY: Final = "dynamic-only"
"""Cannot stand in a file."""
PLUGIN: Final = "plugin"
"""Read by something that is plugged into Kafka, and not in its definitions."""

REQUIRED: Final = "\0required"
"""Stands for the default of a setting that must have a value."""


class Differs(TypedDict, total=False):
    """What 4.4 has in the place of a row's fields."""

    kind: Kind
    default: str | None
    importance: str
    mode: str
    limit: Limit
    flags: Set[str]


class Row(NamedTuple):
    """A setting. `default` is as a file would have it, None for no value; `text` one sentence."""

    name: str
    kind: Kind
    default: str | None
    importance: str
    text: str
    mode: str = READ_ONLY
    limit: Limit = UNLIMITED
    flags: Set[str] = frozenset()
    kafka_4: Differs | None = None

    def of(self, release: int) -> "Row":
        """The row as Kafka 3.9 or (release 4) 4.4 has it."""
        changes: Any = self.kafka_4
        return self if release < 4 or changes is None else self._replace(**changes)
