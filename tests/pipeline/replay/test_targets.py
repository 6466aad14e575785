"""Which topics a replay may be written to."""

from dataclasses import replace

import pytest

from barnabas.pipeline.replay.targets import Target, require_fit, retention_warning
from barnabas.pipeline.spark.failures import PipelineError

EMPTY = Target("a.again", "id", starts=(0, 7), ends=(0, 7))
DAY_MS = 86_400_000


def fit(target: Target, partitions: int = 2, **options: bool) -> None:
    require_fit(target, "a", partitions, **{"with_timestamps": True, "append": False} | options)


def test_an_empty_topic_fits_also_one_whose_records_were_removed_or_that_is_larger() -> None:
    fit(EMPTY)
    fit(EMPTY, partitions=1)


def test_a_topic_with_fewer_partitions_does_not() -> None:
    with pytest.raises(PipelineError, match=r"a\.again has 2 partitions and a has 3"):
        fit(EMPTY, partitions=3)


def test_a_topic_with_records_does_not_unless_they_may_stay() -> None:
    filled = replace(EMPTY, ends=(0, 8))
    with pytest.raises(PipelineError, match=r"a\.again is not empty"):
        fit(filled)
    fit(filled, append=True)


def test_a_topic_that_stamps_records_itself_does_not_unless_they_may_be_stamped() -> None:
    stamps = replace(EMPTY, config={"message.timestamp.type": "LogAppendTime"})
    with pytest.raises(PipelineError, match="stamps its records itself"):
        fit(stamps)
    fit(stamps, with_timestamps=False)


@pytest.mark.parametrize(
    ("config", "warns"),
    [
        ({"retention.ms": str(7 * DAY_MS), "cleanup.policy": "delete"}, True),
        ({"retention.ms": str(7 * DAY_MS), "cleanup.policy": "compact,delete"}, True),
        ({"retention.ms": str(7 * DAY_MS), "cleanup.policy": "compact"}, False),
        ({"retention.ms": str(9 * DAY_MS)}, False),
        ({"retention.ms": "-1"}, False),
    ],
)
def test_a_topic_that_will_not_keep_what_is_old_is_warned_of(
    config: dict[str, str], warns: bool
) -> None:
    told = retention_warning(replace(EMPTY, config=config), 2 * DAY_MS, 10 * DAY_MS)
    assert (told is not None) == warns
    if told:
        assert "keeps records for 7 days" in told


def test_batches_are_as_large_as_the_target_takes() -> None:
    assert EMPTY.batch_bytes == 1_000_000
    assert replace(EMPTY, config={"max.message.bytes": "5000"}).batch_bytes == 5000
    assert replace(EMPTY, config={"max.message.bytes": "50000000"}).batch_bytes == 1_000_000
