"""What all codecs share: taking bytes, what is left, the budget of a frame."""

from __future__ import annotations

import io

import pytest

from barnabas.wire.codec import Codec, remaining, spend, take
from barnabas.wire.compiler import MAX_ELEMENTS
from barnabas.wire.errors import Malformed, Truncated


def test_take_gives_all_or_nothing() -> None:
    stream = io.BytesIO(b"abcdef")
    assert take(stream, 4, "name") == b"abcd"
    with pytest.raises(Truncated) as caught:
        take(stream, 3, "name")
    assert caught.value.path == "name"


def test_remaining_leaves_the_position_alone() -> None:
    stream = io.BytesIO(b"abcdef")
    stream.read(2)
    assert remaining(stream) == 4
    assert stream.read() == b"cdef"


def test_the_budget_is_one_for_the_whole_frame() -> None:
    context: dict[str, int] = {}
    spend(context, MAX_ELEMENTS - 1, "topics")
    spend(context, 1, "topics")
    with pytest.raises(Malformed, match="more than 1000000 array elements") as caught:
        spend(context, 1, "topics[0].partitions")
    assert caught.value.path == "topics[0].partitions"


def test_a_codec_is_bound_to_itself_unless_it_says_otherwise() -> None:
    codec = Codec()
    assert codec.bind(3, True, nullable=False) is codec
    with pytest.raises(TypeError, match="has no null"):
        codec.bind(3, True, nullable=True)
