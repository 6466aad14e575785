from __future__ import annotations

from barnabas.pipeline.lake.entries import LandedTopic
from barnabas.pipeline.land.resuming import (
    EARLIEST,
    Landed,
    OnCluster,
    Verdict,
    has_late_starts,
    is_behind,
    landed_so_far,
    listed,
    own_topics,
    verdict,
    with_spark,
)


def landed_topic(
    topic_id: str, *ends: int, cluster: str = "c", landing: str = "l", topic: str = "t"
) -> LandedTopic:
    offsets = {number: ((0, end),) for number, end in enumerate(ends)}
    return LandedTopic(landing, cluster, topic, topic_id, offsets)


def cluster(*logs: tuple[int, int], topic_id: str = "id") -> OnCluster:
    places = [("t", number) for number in range(len(logs))]
    starts = dict(zip(places, (start for start, _ in logs), strict=True))
    ends = dict(zip(places, (end for _, end in logs), strict=True))
    return OnCluster({"t": topic_id}, starts, ends)


LANDED = Landed({"t": "id"}, {("t", 0): 10, ("t", 1): 5})


def test_a_landing_goes_on_where_the_lake_ends_and_takes_new_partitions_from_their_start() -> None:
    found = verdict(LANDED, cluster((0, 10), (5, 8), (3, 4)))
    assert (found.lost, found.made_again) == ((), ())
    assert found.starts == {("t", 0): 10, ("t", 1): 5, ("t", 2): EARLIEST}


def test_records_that_were_deleted_before_they_landed_are_named_and_counted() -> None:
    found = verdict(LANDED, cluster((0, 10), (1_005, 2_000)))
    assert found.lost == ("t-1: offsets 5 to 1004 (1,000) were deleted",)
    assert found.starts == {("t", 0): 10, ("t", 1): EARLIEST}


def test_a_log_that_ends_below_what_has_landed_is_named() -> None:
    found = verdict(LANDED, cluster((0, 7), (0, 5)))
    assert found.lost == ("t-0 ends at 7, and all below 10 has landed",)
    assert found.starts[("t", 0)] == 7


def test_a_topic_made_again_is_told_by_its_id_and_starts_anew() -> None:
    found = verdict(LANDED, cluster((0, 100), (0, 100), topic_id="new"))
    assert found.lost == ()
    assert "its id was id when offsets up to 15 in all" in found.made_again[0]
    assert set(found.starts.values()) == {EARLIEST}


def test_a_topic_that_is_gone_is_lost_only_where_it_is_still_wanted() -> None:
    nothing = OnCluster({}, {}, {})
    assert verdict(LANDED, nothing).lost == ("topic t is not there any more",)
    lake = [landed_topic("id", 10)]
    assert verdict(landed_so_far(lake, "c", {}, {"t"}), nothing).lost != ()
    assert verdict(landed_so_far(lake, "c", {}, {"u"}), nothing) == Verdict()


def test_topics_of_other_landings_are_neither_missed_nor_ahead() -> None:
    lake = [landed_topic("id", 10), landed_topic("id", 7, landing="m", topic="theirs")]
    there = cluster((0, 10))
    own = own_topics(there, {"t": "id"}, {("t", 0): 10})
    landed = landed_so_far(lake, "c", there.topic_ids, own)
    assert verdict(landed, there).lost == ()
    assert not is_behind(landed, {("t", 0): 10})


def test_a_landings_own_topics_are_those_it_started_with_and_those_spark_found() -> None:
    stream = {("found", 0): 3, ("t", 0): 10}
    assert own_topics(cluster((0, 10)), {"gone": "g"}, {}, stream) == {"t", "gone", "found"}
    lake = [landed_topic("id", 10), landed_topic("id", 3, topic="found")]
    landed = landed_so_far(lake, "c", {"t": "id"}, {"t", "gone", "found"})
    assert verdict(landed, cluster((0, 10))).lost == ("topic found is not there any more",)


def test_where_a_topic_ends_does_not_depend_on_which_landing_brought_it() -> None:
    both = [landed_topic("id", 10), landed_topic("id", 7, 4, landing="m")]
    other = landed_topic("id", 99, cluster="d")
    for order in (both, both[::-1]):
        assert landed_so_far([other, *order], "c", {"t": "id"}, {"t"}) == Landed(
            {"t": "id"}, {("t", 0): 10, ("t", 1): 4}
        )


def test_of_a_topic_made_again_the_present_id_counts() -> None:
    both = [landed_topic("new", 3), landed_topic("old", 10, 8)]
    for order in (both, both[::-1]):
        found = landed_so_far(order, "c", {"t": "new"}, {"t"})
        assert found == Landed({"t": "new"}, {("t", 0): 3})


def test_what_spark_takes_for_done_counts_even_where_nothing_has_landed() -> None:
    done = {("t", 0): 4, ("t", 2): 9, ("u", 0): 6}
    found = with_spark(LANDED, {"t": "id", "u": "u"}, done, {})
    assert found.ends == {("t", 0): 10, ("t", 1): 5, ("t", 2): 9, ("u", 0): 6}
    assert found.topic_ids == {"t": "id", "u": "u"}


def test_nothing_that_landed_before_counts_for_a_topic_that_lands_anew() -> None:
    found = with_spark(LANDED, {"t": "new"}, {("t", 0): 2}, {"t": "new"})
    assert found == Landed({"t": "new"}, {("t", 0): 2})


def test_what_an_empty_partition_loses_before_it_lands_is_told() -> None:
    landed = Landed({"t": "id"}, {("t", 0): 10})
    there = cluster((0, 10), (50, 100))
    known = with_spark(landed, {"t": "id"}, {("t", 0): 10, ("t", 1): 0}, there.topic_ids)
    found = verdict(known, there)
    assert found.lost == ("t-1: offsets 0 to 49 (50) were deleted",)
    assert found.starts == {("t", 0): 10, ("t", 1): EARLIEST}


def test_so_is_what_a_topic_loses_that_spark_has_found_later() -> None:
    there = cluster((50, 100))
    known = with_spark(Landed({}, {}), {}, {("t", 0): 0}, there.topic_ids)
    assert verdict(known, there).lost == ("t-0: offsets 0 to 49 (50) were deleted",)
    gone = with_spark(Landed({}, {}), {}, {("t", 0): 0}, {})
    assert verdict(gone, OnCluster({}, {}, {})).lost == ("topic t is not there any more",)


def test_a_partition_is_late_that_a_stream_does_not_know_and_that_has_lost_its_start() -> None:
    there = cluster((5, 9), (0, 3))
    assert not has_late_starts(there, {})
    assert not has_late_starts(there, {("t", 0): 5})
    assert has_late_starts(there, {("t", 1): 3})


def test_a_stream_is_behind_where_another_landing_brought_more() -> None:
    assert not is_behind(LANDED, {("t", 0): 10, ("t", 1): 9})
    assert is_behind(LANDED, {("t", 0): 9, ("t", 1): 9})
    assert is_behind(LANDED, {("t", 0): 10})
    assert not is_behind(Landed({}, {}), {})


def test_long_lists_are_cut() -> None:
    assert listed(["a", "b"]) == "a; b"
    assert listed(list("abcde")) == "a; b; c; and 2 more"
