"""Full collections wait while large requests are served."""

import gc

from barnabas.server.core.collector import MANY_PARTITIONS, NEVER, STARTING, Collector


def test_what_is_old_is_left_alone_while_anybody_asks() -> None:
    found = gc.get_threshold()
    collector = Collector()
    with collector.no_full_collections():
        assert gc.get_threshold() == (*found[:2], NEVER)
        with collector.no_full_collections():
            pass
        assert gc.get_threshold() == (*found[:2], NEVER)
    assert gc.get_threshold() == found


def test_a_start_has_the_young_looked_at_less_often() -> None:
    found = gc.get_threshold()
    collector = Collector()
    with collector.no_full_collections(STARTING):
        assert gc.get_threshold() == (STARTING, found[1], NEVER)
        with collector.no_full_collections():
            assert gc.get_threshold() == (STARTING, found[1], NEVER)
    assert gc.get_threshold() == found


def test_it_is_as_it_was_after_a_failure() -> None:
    found = gc.get_threshold()
    try:
        with Collector().no_full_collections():
            raise LookupError
    except LookupError:
        pass
    assert gc.get_threshold() == found


def test_in_a_process_of_its_own_a_broker_keeps_what_it_has_loaded() -> None:
    collector = Collector()
    try:
        collector.grew(MANY_PARTITIONS)
        assert gc.get_freeze_count() == 0
        collector.take_over()
        kept = gc.get_freeze_count()
        assert kept > 10_000
        young: list[list[int]] = [[] for _ in range(1_000)]
        collector.grew(MANY_PARTITIONS - 1)
        assert gc.get_freeze_count() <= kept
        collector.grew(1)
        assert gc.get_freeze_count() > kept
        assert len(young) == 1_000
    finally:
        gc.unfreeze()
