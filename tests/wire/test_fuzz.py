"""Both paths agree on everything, and nothing but a ProtocolError ever comes out.

The reference path is plain construct, the compiled path is what the server runs; for every
message and version they are held against each other on random values, on bytes that were
valid once, and on bytes that never were.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.wire.arrays import COUNT
from barnabas.wire.bound import Bound
from barnabas.wire.errors import Malformed, ProtocolError, Truncated
from barnabas.wire.header import parse_request_header, parse_response_header
from tests.wire.steps import finished
from tests.wire.strategies import Values, all_versions, declared, messages, value

VALUES = 2  # per message and version
DAMAGED = 12  # per value
PREFIXES = 60  # per value, if it has more
LENGTHS_THAT_HURT = (
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x80",
    b"\xff",
)


def every_bound() -> Iterator[tuple[str, Bound[Any]]]:
    for name, version in all_versions():
        yield f"{name} version {version}", declared()[name].at(version)


def samples(bound: Bound[Any], count: int = VALUES) -> list[Any]:
    return [value(bound.message.__name__, bound.version, seed) for seed in range(count)]


def outcome(work: Callable[[], Any]) -> Any:
    """What comes of it: a value, or the kind of ProtocolError. Anything else escapes."""
    try:
        return work()
    except ProtocolError as error:
        return type(error)


def decode(bound: Bound[Any], data: bytes) -> Any:
    return outcome(lambda: bound.decode(memoryview(data), 0))


def encode(bound: Bound[Any], message: Any) -> Any:
    def work() -> bytes:
        out = bytearray()
        bound.encode(message, out, [])
        return bytes(out)

    return outcome(work)


def decode_in_steps(bound: Bound[Any], data: bytes) -> Any:
    return outcome(lambda: finished(bound.decode_in_steps(memoryview(data), 0)).value)


def encode_in_steps(bound: Bound[Any], message: Any) -> Any:
    def work() -> bytes:
        out = bytearray()
        finished(bound.encode_in_steps(message, out, []))
        return bytes(out)

    return outcome(work)


def same(bound: Bound[Any], ours: Any, reference: Any) -> bool:
    """Equal, or equal but for a NaN, which its bytes tell."""
    if ours == reference or isinstance(ours, type) or isinstance(reference, type):
        return bool(ours == reference)
    return bool(encode(bound, ours) == encode(bound, reference))


def assert_paths_agree(place: str, bound: Bound[Any], data: bytes) -> None:
    ours = decode(bound, data)
    reference = outcome(lambda: bound.reference.parse(data))
    assert same(bound, ours, reference), f"{place}: {data.hex()}: {ours}, {reference}"
    stepped = decode_in_steps(bound, data)
    assert same(bound, stepped, ours), f"{place}: {data.hex()}: {stepped}, {ours}"


def damaged(data: bytes, source: random.Random) -> bytes:
    """`data` with a byte or a length changed, a piece taken out or put in, or cut short."""
    at = source.randrange(len(data) + 1)
    kind = source.randrange(6)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + source.randbytes(source.randrange(1, 4)) + data[at:]
    if kind == 2:
        return data[:at] + data[at + source.randrange(1, 5) :]
    if kind == 3:
        hurt = source.choice(LENGTHS_THAT_HURT)
        return data[:at] + hurt + data[at + len(hurt) :]
    if kind == 4:
        return source.randbytes(source.randrange(40))
    return data[:at] + source.randbytes(1) + data[at + 1 :]


def test_both_paths_write_the_same_and_read_it_back() -> None:
    for place, bound in every_bound():
        for each in samples(bound):
            data = bound.build(each)
            assert data == bound.reference.build(each), place
            assert bound.parse(data) == each, place
            assert bound.reference.parse(data) == each, place
            assert encode_in_steps(bound, each) == data, place
            assert decode_in_steps(bound, data) == each, place


def test_both_paths_agree_on_fields_that_the_version_lacks() -> None:
    for place, bound in every_bound():
        source = random.Random(place)
        for _ in range(2):
            each = Values(source, absent=0.3).of(bound.message, bound.version)
            assert encode(bound, each) == outcome(partial(bound.reference.build, each)), place


def test_both_paths_agree_on_damaged_bytes() -> None:
    for place, bound in every_bound():
        source = random.Random(place)
        for each in samples(bound):
            data = bound.build(each)
            for _ in range(DAMAGED):
                assert_paths_agree(place, bound, damaged(data, source))


def test_every_proper_prefix_is_refused() -> None:
    """Truncated, or Malformed where the cut leaves a count larger than the rest."""
    for place, bound in every_bound():
        data = bound.build(samples(bound, 1)[0])
        cuts = random.Random(place).sample(range(len(data)), min(PREFIXES, len(data)))
        for cut in cuts:
            try:
                bound.decode(memoryview(data)[:cut], 0)
            except Truncated:
                continue
            except Malformed as error:
                assert error.reason == COUNT, f"{place} cut at {cut}: {error}"
                continue
            raise AssertionError(f"{place} cut at {cut} of {len(data)} is a message")


@settings(max_examples=400, deadline=None)
@given(messages(), st.binary(max_size=200))
def test_random_bytes_are_a_message_or_a_protocol_error(
    message: tuple[str, int], data: bytes
) -> None:
    name, version = message
    assert_paths_agree(f"{name} version {version}", declared()[name].at(version), data)


@settings(max_examples=400, deadline=None)
@given(st.integers(-1, 95), st.integers(-1, 20), st.binary(max_size=60))
def test_random_headers_are_a_header_or_a_protocol_error(
    api_key: int, api_version: int, rest: bytes
) -> None:
    head = api_key.to_bytes(2, "big", signed=True) + api_version.to_bytes(2, "big", signed=True)
    outcome(lambda: parse_request_header(memoryview(head + rest)))
    outcome(lambda: parse_request_header(memoryview(rest)))
    outcome(lambda: parse_response_header(memoryview(rest), api_key, api_version))
