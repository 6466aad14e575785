"""What Kafka's Python client raises, and what it means."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from barnabas.pipeline.replay.client_errors import flush


class Ended:
    """A producer that a fatal error ends while there are reports to be given."""

    def __init__(self, cause: Exception | None) -> None:
        self._cause = cause

    def flush(self, timeout_s: float) -> int:
        raise SystemError("returned a result with an exception set") from self._cause


def test_a_fatal_error_amid_reports_is_that_error() -> None:
    fenced = KafkaException(KafkaError(KafkaError._FENCED, fatal=True))
    ended: Any = Ended(fenced)
    with pytest.raises(KafkaException) as raised:
        flush(ended, 1)
    assert raised.value is fenced


@pytest.mark.parametrize("cause", [None, ValueError()])
def test_another_one_stays_what_it_is(cause: Exception | None) -> None:
    ended: Any = Ended(cause)
    with pytest.raises(SystemError):
        flush(ended, 1)
