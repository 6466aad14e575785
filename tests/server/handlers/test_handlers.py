"""The table of handlers and the handlers themselves say the same."""

from importlib import import_module

import pytest

from barnabas.server.handlers import HANDLERS
from barnabas.wire.api import ApiKey, request_class


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: str(key.name))
def test_a_handler_serves_what_the_table_says(key: ApiKey) -> None:
    module = import_module(f"barnabas.server.handlers.{key.name.lower()}")
    assert module.VERSIONS == HANDLERS[key]
    assert callable(module.handle)
    first, last = HANDLERS[key]
    assert set(range(first, last + 1)) <= set(request_class(key).VERSIONS)


def test_the_table_is_in_order() -> None:
    assert list(HANDLERS) == sorted(HANDLERS)
