"""A codec by both of its paths at once: what it reads and writes, or the error of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.wire.codec import Codec
from barnabas.wire.compiler import compile_build, compile_parse
from barnabas.wire.errors import ProtocolError


def read(codec: Codec, data: bytes) -> Any:
    """The value of `data`, which both paths must agree on."""
    value = codec.parse(data)
    compiled = compile_parse(codec)(memoryview(data), 0)
    assert compiled == value
    assert type(compiled) in (type(value), memoryview)
    return compiled


def write(codec: Codec, value: Any) -> bytes:
    """The bytes of `value`, which both paths must agree on."""
    out = bytearray()
    compile_build(codec)(value, out, [])
    assert codec.build(value) == out
    return bytes(out)


def refuses_to_read(codec: Codec, data: bytes, error: type[ProtocolError], reason: str) -> None:
    """Both paths raise `error` for that reason."""
    _refuses(lambda: codec.parse(data), error, reason)
    _refuses(lambda: compile_parse(codec)(memoryview(data), 0), error, reason)


def refuses_to_write(
    codec: Codec, value: Any, error: type[ProtocolError], reason: str | None = None
) -> None:
    """Both paths raise `error`, for that reason."""
    _refuses(lambda: codec.build(value), error, reason)
    _refuses(lambda: compile_build(codec)(value, bytearray(), []), error, reason)


def _refuses(work: Callable[[], object], error: type[ProtocolError], reason: str | None) -> None:
    with pytest.raises(error, match=reason) as caught:
        work()
    assert type(caught.value) is error
