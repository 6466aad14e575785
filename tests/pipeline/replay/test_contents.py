"""What keeps rows of a lake from being replayed."""

from dataclasses import replace

import pytest

from barnabas.pipeline.lake.entries import LandedTopic
from barnabas.pipeline.replay.contents import Content, partition_counts, require_replayable
from barnabas.pipeline.replay.selection import Selection
from barnabas.pipeline.spark.failures import PipelineError

WHOLE = Content("a", "id1", 0, rows=10, first=0, last=9, doubled=0, unstamped=0, oldest_ms=5)
ALL = Selection(("a",))


def landed(topic: str, *partitions: int) -> LandedTopic:
    return LandedTopic("l", "c", topic, "id", {number: ((0, 1),) for number in partitions})


def test_a_topic_has_as_many_partitions_as_any_landing_has_seen() -> None:
    landings = [landed("a", 0, 2), landed("a", 4), landed("b", 0)]
    assert partition_counts(landings, Selection(("a", "b")), "l") == {"a": 5, "b": 1}


def test_a_topic_that_never_landed_is_named_with_those_that_have() -> None:
    with pytest.raises(PipelineError, match="the lake has no topic c; it has a, b"):
        partition_counts([landed("b", 0), landed("a", 0)], Selection(("c",)), "l")


def test_a_folder_without_landings_is_no_lake() -> None:
    with pytest.raises(PipelineError, match="there is no lake at /l"):
        partition_counts([], ALL, "/l")


def test_what_is_whole_is_replayed() -> None:
    require_replayable([WHOLE, replace(WHOLE, partition=1)], ALL, with_timestamps=True)


@pytest.mark.parametrize(
    ("contents", "told"),
    [
        ([], "nothing is selected"),
        ([WHOLE, replace(WHOLE, topic_id="id2")], "of id1, id2; --topic-id"),
        ([WHOLE, replace(WHOLE, partition=3, doubled=2)], "2 records twice, of a-3;"),
        ([replace(WHOLE, unstamped=4)], "4 records of a-0 are stamped 1970"),
        (
            [replace(WHOLE, partition=number, doubled=1) for number in range(9)],
            "9 records twice, of a-0, a-1, a-2 and 6 more;",
        ),
    ],
)
def test_what_is_not_is_refused(contents: list[Content], told: str) -> None:
    with pytest.raises(PipelineError) as raised:
        require_replayable(contents, ALL, with_timestamps=True)
    assert told in raised.value.message


def test_records_without_a_time_are_replayed_with_new_ones() -> None:
    require_replayable([replace(WHOLE, unstamped=4)], ALL, with_timestamps=False)
