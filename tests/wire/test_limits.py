"""What a hostile frame may cost: memory by its size, elements and tags by number.

The dearest frames are arrays of the smallest elements: three bytes can be an object with two
empty lists. Every array of every message is weighed on paper; the worst are then measured.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FunctionType
from typing import Any, NamedTuple

import pytest

from barnabas.wire.arrays import Array
from barnabas.wire.bound import Bound
from barnabas.wire.codec import Codec, over_budget
from barnabas.wire.compiler import MAX_ELEMENTS, MAX_ELEMENTS_IN_STEPS, MAX_TAGS
from barnabas.wire.errors import Malformed, ProtocolError
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.produce import ProduceRequest
from barnabas.wire.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.primitives import Fixed, UuidCodec
from barnabas.wire.schema import EMPTY_LIST, Field
from barnabas.wire.strings import RecordsCodec, StringCodec
from barnabas.wire.structs import StructCodec
from barnabas.wire.tags import MANY
from barnabas.wire.uuids import ZERO_UUID
from barnabas.wire.varint import write_uvarint
from tests.wire.steps import finished
from tests.wire.strategies import all_versions, declared

MEMORY_PER_BYTE = 64
FRAME_BYTES = 1 << 20
SMALL_FRAME_BYTES = 1 << 13
LIST_BYTES, VIEW_BYTES, OBJECT_BYTES, SLOT_BYTES = 56, 200, 56, 8
Step = tuple[Field, Codec]


class Target(NamedTuple):
    """An array somewhere in a message, and the way to it."""

    bound: Bound[Any]
    steps: tuple[Step, ...]

    @property
    def element(self) -> Codec:
        array = self.steps[-1][1]
        assert isinstance(array, Array)
        return array.element

    def __str__(self) -> str:
        place = ".".join(field.name for field, _ in self.steps)
        return f"{self.bound.message.__name__} version {self.bound.version} {place}"

    def weight(self) -> float:
        """About how many bytes of memory a byte of the smallest elements costs."""
        element, held = self.element, SLOT_BYTES
        if isinstance(element, StructCodec):
            members = [member for _, member in element.present]
            lists = sum(isinstance(member, Array) for member in members)
            lists += sum(
                field.default is EMPTY_LIST
                for field in element.absent + [field for field, _ in element.tagged]
            )
            views = sum(isinstance(member, RecordsCodec) for member in members)
            held += OBJECT_BYTES + SLOT_BYTES * len(element.cls.FIELDS)
            held += LIST_BYTES * lists + VIEW_BYTES * views
        return held / max(1, element.minimum_bytes)

    def frame(self, size: int) -> bytes:
        """About `size` bytes that are this message with as many elements as there can be."""
        count = size // max(1, self.element.minimum_bytes)
        return self.bound.build(filled(self.bound.reference, self.steps, count))


def targets() -> Iterator[Target]:
    for name, version in all_versions():
        bound = declared()[name].at(version)
        for steps in ways(bound.reference):
            yield Target(bound, steps)


def ways(codec: StructCodec) -> Iterator[tuple[Step, ...]]:
    """The way to every array in a struct."""
    for field, member in codec.present + codec.tagged:
        inner = member.element if isinstance(member, Array) else member
        if isinstance(member, Array):
            yield ((field, member),)
        if isinstance(inner, StructCodec):
            yield from (((field, member), *rest) for rest in ways(inner))


def smallest(codec: Codec) -> Any:
    """The value of fewest bytes that is not null."""
    if isinstance(codec, StructCodec):
        made = codec.cls()
        for field, member in codec.present:
            nullable = isinstance(member, StructCodec) and member.nullable
            setattr(made, field.name, None if nullable else smallest(member))
        return made
    if isinstance(codec, Array):
        return []
    if isinstance(codec, UuidCodec):
        return ZERO_UUID
    if isinstance(codec, Fixed):
        return 0
    return "" if isinstance(codec, StringCodec) else b""


def filled(codec: StructCodec, steps: tuple[Step, ...], count: int) -> Any:
    """The smallest struct but for the array at the end of the way, which has `count` elements."""
    made = smallest(codec)
    (field, member), *rest = steps
    inner = member.element if isinstance(member, Array) else member
    if rest:
        assert isinstance(inner, StructCodec)
        value = filled(inner, tuple(rest), count)
        setattr(made, field.name, [value] if isinstance(member, Array) else value)
    else:
        setattr(made, field.name, [smallest(inner)] * count)
    return made


def memory_per_byte(bound: Bound[Any], data: bytes) -> float:
    """Peak memory of the compiled path over the frame's size, whether it is a message or not."""
    with suppress(ProtocolError):
        bound.decode(memoryview(data), 0)  # compiled on first use, and its parts too
    decode, view = quick_to_trace(bound), memoryview(data)
    tracemalloc.start()
    try:
        with suppress(ProtocolError):
            decode(view, 0)
        return tracemalloc.get_traced_memory()[1] / len(data)
    finally:
        tracemalloc.stop()


def quick_to_trace(bound: Bound[Any]) -> Callable[[memoryview, int], Any]:
    """The compiled function without its line table: tracemalloc looks every allocation's line
    up in it, from the start, and one function holds all of a message."""
    code = bound.decode.__code__.replace(co_linetable=b"")
    return FunctionType(code, bound.decode.__globals__)


@pytest.fixture(scope="module")
def dearest() -> list[Target]:
    return sorted(targets(), key=Target.weight, reverse=True)


def test_a_hostile_frame_costs_less_than_64_times_its_size(dearest: list[Target]) -> None:
    worst = dearest[0]
    data = worst.frame(FRAME_BYTES)
    assert len(data) > 0.9 * FRAME_BYTES
    assert worst.weight() / 2 < memory_per_byte(worst.bound, data) < MEMORY_PER_BYTE, str(worst)


def test_every_dear_array_stays_under_the_same_bound(dearest: list[Target]) -> None:
    for each in dearest[:60]:
        data = each.frame(SMALL_FRAME_BYTES)
        measured = memory_per_byte(each.bound, data)
        assert each.weight() / 2 < measured < MEMORY_PER_BYTE, f"{each}: {measured}"


def test_a_count_alone_costs_nothing() -> None:
    """Four bytes of the largest count, wherever they stand, and nothing is built for them."""
    data = b"\x7f\xff\xff\xff" * (FRAME_BYTES // 4)
    for name, version in all_versions():
        bound = declared()[name].at(version)
        if not bound.flexible:
            assert memory_per_byte(bound, data) < 1, f"{name} version {version}"


def test_one_frame_has_at_most_a_million_elements() -> None:
    bound = MetadataRequest.at(0)
    topic = b"\x00\x00"
    data = MAX_ELEMENTS.to_bytes(4, "big") + topic * MAX_ELEMENTS
    assert len(bound.parse(data).topics or ()) == MAX_ELEMENTS
    more = (MAX_ELEMENTS + 1).to_bytes(4, "big") + topic * (MAX_ELEMENTS + 1)
    for path in (bound.parse, bound.reference.parse):
        with pytest.raises(Malformed, match=over_budget(MAX_ELEMENTS)):
            path(more)


def test_in_steps_it_is_fewer() -> None:
    bound = MetadataRequest.at(0)
    most = MAX_ELEMENTS_IN_STEPS
    data = most.to_bytes(4, "big") + b"\x00\x00" * most
    assert len(finished(bound.decode_in_steps(memoryview(data), 0)).value.topics or ()) == most
    more = (most + 1).to_bytes(4, "big") + b"\x00\x00" * (most + 1)
    with pytest.raises(Malformed, match=over_budget(most)):
        finished(bound.decode_in_steps(memoryview(more), 0))


def test_what_controllers_say_may_be_longer_in_steps_too() -> None:
    bound = UpdateMetadataRequest.at(8)
    isr = list(range(MAX_ELEMENTS_IN_STEPS))
    state = UpdateMetadataPartitionState(
        partition_index=0, controller_epoch=0, leader=0, leader_epoch=0, zk_version=0,
        isr=isr, replicas=isr,
    )  # fmt: skip
    topic = UpdateMetadataTopicState(topic_name="t", partition_states=[state])
    said = UpdateMetadataRequest(controller_id=0, controller_epoch=0, topic_states=[topic])
    data = memoryview(bound.build(said))
    assert finished(bound.decode_in_steps(data, 0)).value == said


def test_all_arrays_of_a_frame_count_together() -> None:
    """Three topics of 400,000 partitions each: every one alone would do."""
    partition = bytes(4) + b"\xff\xff\xff\xff"
    count = 400_000
    topic = b"\x00\x00" + count.to_bytes(4, "big") + partition * count
    data = b"\x00\x00" + bytes(4) + (3).to_bytes(4, "big") + topic * 3
    with pytest.raises(Malformed, match=over_budget(MAX_ELEMENTS)):
        ProduceRequest.at(0).decode(memoryview(data), 0)
    assert len(ProduceRequest.at(0).parse(data[:9] + b"\x01" + topic).topics) == 1


def test_one_struct_has_at_most_ten_thousand_tags() -> None:
    bound = ApiVersionsRequest.at(3)
    full = tagged(MAX_TAGS)
    assert len(bound.parse(full).unknown_tagged_fields) == MAX_TAGS
    assert bound.build(bound.parse(full)) == full
    for path in (bound.parse, bound.reference.parse):
        with pytest.raises(Malformed, match=MANY):
            path(tagged(MAX_TAGS + 1))


def tagged(count: int) -> bytes:
    """An ApiVersions request (v3) of two empty strings and so many unknown tags, all empty."""
    data = bytearray(b"\x01\x01")
    write_uvarint(data, count)
    for tag in range(count):
        write_uvarint(data, tag)
        data += b"\x00"
    return bytes(data)
