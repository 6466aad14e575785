from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError

from barnabas.pipeline.land.landing import quietly
from barnabas.pipeline.spark.failures import PipelineError


def fails_with(error: Exception) -> None:
    def action() -> None:
        raise error

    quietly(action)


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("gone"), ConnectionRefusedError(111, "refused")]
)
def test_a_sentence_is_told_whatever_a_jvm_that_is_gone_says_to_the_last_call(
    error: Exception,
) -> None:
    with pytest.raises(PipelineError, match="the JVM has ended"):
        try:
            raise PipelineError("the JVM has ended")
        finally:
            fails_with(error)


def test_our_own_faults_are_not_passed_over() -> None:
    with pytest.raises(ZeroDivisionError):
        fails_with(ZeroDivisionError())
