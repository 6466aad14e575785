"""Which characters a path may have."""

import pytest

from barnabas.server.registry.znodes.names import require_valid
from barnabas.server.registry.znodes.store import BadArguments


@pytest.mark.parametrize(
    "path",
    ["/\x01", "/\x1f", "/\x7f", "/\x9f", "/\ud800", "/\ue000", "/\uf8ff", "/\ufff0", "/\uffff"],
)
def test_characters_zookeeper_does_not_take(path: str) -> None:
    with pytest.raises(BadArguments):
        require_valid(path)


@pytest.mark.parametrize("path", ["/ ", "/\xa0", "/\ud7ff", "/\uf900", "/\U0001f600", "/.a", "/a."])
def test_characters_zookeeper_takes(path: str) -> None:
    require_valid(path)
