"""Full collections wait while large requests are served."""

import gc

from barnabas.server.core.collector import NEVER, Collector


def test_what_is_old_is_left_alone_while_anybody_asks() -> None:
    found = gc.get_threshold()
    collector = Collector()
    with collector.no_full_collections():
        assert gc.get_threshold() == (*found[:2], NEVER)
        with collector.no_full_collections():
            pass
        assert gc.get_threshold() == (*found[:2], NEVER)
    assert gc.get_threshold() == found


def test_it_is_as_it_was_after_a_failure() -> None:
    found = gc.get_threshold()
    try:
        with Collector().no_full_collections():
            raise LookupError
    except LookupError:
        pass
    assert gc.get_threshold() == found
