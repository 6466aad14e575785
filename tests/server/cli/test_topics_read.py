"""What a consumer's metadata tells of the topics that it reads."""

import time
from types import SimpleNamespace

import pytest

from barnabas.server.cli.failures import Failure
from barnabas.server.cli.topics_read import Topics


class Metadata:
    """Of kafka-python's consumer, as much of it as is asked for."""

    def __init__(self) -> None:
        self.ids = {"a": 1, "b": 2}
        self._last_successful_refresh_ms = time.monotonic() * 1000

    def partitions_for_topic(self, name: str) -> set[int] | None:
        return {0} if name in self.ids else None

    def topic_id(self, name: str) -> int | None:
        return self.ids.get(name)

    def refresh(self, after_s: float) -> None:
        self._last_successful_refresh_ms += after_s * 1000


def read(metadata: Metadata, *, follow: bool) -> Topics:
    topics = Topics(SimpleNamespace(_cluster=metadata), ("a", "b"), follow=follow)
    assert topics.look() == []
    return topics


def test_a_topic_is_gone_when_metadata_has_lacked_it_for_a_while() -> None:
    metadata = Metadata()
    topics = read(metadata, follow=False)
    del metadata.ids["a"]
    assert (topics.look(), topics.is_one_in_doubt) == ([], True)  # nothing newer is known
    metadata.refresh(after_s=1)
    assert topics.look() == []
    metadata.refresh(after_s=2)
    assert (topics.look(), topics.left, topics.is_one_in_doubt) == (["a"], ["b"], False)
    with pytest.raises(Failure, match=r"^the topic a was deleted$"):
        topics.check()
    del metadata.ids["b"]
    metadata.refresh(after_s=3)
    with pytest.raises(Failure, match=r"^the topics a, b were deleted$"):
        topics.look()


def test_a_topic_that_was_made_again_is_another_to_who_reads_to_its_end() -> None:
    """Its old end was waited for, which the new one may never have."""
    for follow, gone in ((False, ["b"]), (True, [])):
        metadata = Metadata()
        topics = read(metadata, follow=follow)
        metadata.ids["b"] = 3
        assert topics.look() == gone


def test_who_follows_is_told_of_each_and_of_the_last_by_a_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    metadata = Metadata()
    topics = read(metadata, follow=True)
    del metadata.ids["a"]
    metadata.refresh(after_s=3)
    assert topics.look() == ["a"]
    assert capsys.readouterr().err == "the topic a was deleted\n"
    del metadata.ids["b"]
    metadata.refresh(after_s=3)
    with pytest.raises(Failure, match=r"^the topic b was deleted$"):
        topics.look()


def test_what_is_read_to_its_end_may_go() -> None:
    metadata = Metadata()
    topics = read(metadata, follow=False)
    topics.keep({"b"})
    del metadata.ids["a"]
    metadata.refresh(after_s=9)
    assert topics.look() == []
    topics.check()
