"""Which records a replay is told to take."""

import pytest

from barnabas.pipeline.replay.selection import OffsetRange, Selection
from barnabas.pipeline.spark.failures import PipelineError


@pytest.mark.parametrize(
    ("text", "partition", "first", "last"),
    [
        ("3:100-199", 3, 100, 199),
        ("0:7", 0, 7, 7),
        ("0:7-", 0, 7, None),
        ("12:-9", 12, 0, 9),
        ("0:0-0", 0, 0, 0),
    ],
)
def test_offsets_are_a_partition_and_its_first_and_last(
    text: str, partition: int, first: int, last: int | None
) -> None:
    assert OffsetRange.parse(text) == OffsetRange(partition, first, last)


@pytest.mark.parametrize("text", ["", "5", "0:", "0:-", "0:9-3", "a:1-2", "0:1-2-3", "0:1,2"])
def test_other_offsets_are_refused(text: str) -> None:
    with pytest.raises(PipelineError, match="--offsets"):
        OffsetRange.parse(text)


def test_the_same_selection_in_another_order_is_the_same_replay() -> None:
    one = Selection(
        ("b", "a"), keys=(b"x", b"\xff"), offsets=(OffsetRange(1, 0), OffsetRange(0, 5))
    )
    two = Selection(
        ("a", "b"), keys=(b"\xff", b"x"), offsets=(OffsetRange(0, 5), OffsetRange(1, 0))
    )
    assert one.to_json() == two.to_json()
    assert one.to_json() != Selection(("a", "b")).to_json()
