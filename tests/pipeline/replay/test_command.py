"""What `barnabas pipeline replay` makes of its options."""

import pytest
from click.testing import CliRunner

from barnabas.pipeline.replay.command import replay, targets_of
from barnabas.server.cli.failures import BadInput


def test_targets_are_named_by_a_suffix_or_one_by_its_name() -> None:
    assert targets_of(("a", "b"), None, None) == {"a": "a.replayed", "b": "b.replayed"}
    assert targets_of(("a",), None, "-2") == {"a": "a-2"}
    assert targets_of(("a",), None, "") == {"a": "a"}
    assert targets_of(("a",), "c", None) == {"a": "c"}


@pytest.mark.parametrize(
    ("topics", "suffix"), [(("a", "b"), None), (("a",), ".x")], ids=["two topics", "both"]
)
def test_one_name_is_for_one_topic(topics: tuple[str, ...], suffix: str | None) -> None:
    with pytest.raises(BadInput, match="--to"):
        targets_of(topics, "c", suffix)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--from-time", "soon"], "--from-time soon: it has to be a time"),
        (["--rate", "soon"], "--rate soon: it has to be records a second"),
        (["--offsets", "1-2"], "--offsets 1-2: it has to be PARTITION:FIRST-LAST"),
        (["--set", "retention.ms"], "--set: 'retention.ms' is not followed by =VALUE"),
    ],
)
def test_what_is_wrong_is_said_before_spark_starts(options: list[str], told: str) -> None:
    result = CliRunner().invoke(replay, ["a", "--lake", "/nowhere", *options])
    assert result.exit_code == 2
    assert told in result.output
