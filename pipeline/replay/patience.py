"""A cluster that does not answer is asked again for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaException

from barnabas.pipeline.replay.client_errors import error_of, refuse_if_for_good
from barnabas.pipeline.spark.failures import PipelineError

PATIENCE_S = 180.0
PAUSE_S = 0.5

T = TypeVar("T")


def patiently(step: Callable[[], T], doing: str, patience_s: float = PATIENCE_S) -> T:
    """Do something until it is done; PipelineError when it is refused for good, or time is over."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return step()
        except KafkaException as raised:
            refuse_if_for_good(raised, doing)
            if time.monotonic() > deadline:
                raise PipelineError(
                    f"{doing}: the brokers do not answer: {error_of(raised).str()}; "
                    "--bootstrap names them"
                ) from raised
            time.sleep(PAUSE_S)
