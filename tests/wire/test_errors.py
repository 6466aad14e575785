"""Three kinds of fault, each with its reason and its place."""

from __future__ import annotations

import pytest

from barnabas.wire.errors import Malformed, ProtocolError, Truncated, UnsupportedVersion


@pytest.mark.parametrize("kind", [Truncated, Malformed, UnsupportedVersion])
def test_reason_and_place(kind: type[ProtocolError]) -> None:
    error = kind("it ends", "topics[0].name")
    assert isinstance(error, ProtocolError)
    assert (error.reason, error.path) == ("it ends", "topics[0].name")
    assert str(error) == "topics[0].name: it ends"
    assert str(kind("it ends")) == "it ends"
