"""What an audit is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from barnabas.pipeline.spark.kafka import KafkaCluster


@dataclass(frozen=True)
class Question:
    """What is to be audited. `is_everything`: the lake is meant to hold uncommitted records."""

    cluster: KafkaCluster
    lake: str
    topics: Sequence[str] | None = None
    pattern: str | None = None
    log_dirs: Sequence[str] = ()
    is_everything: bool = False
