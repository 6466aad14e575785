"""The compiled path: one function, one call for neighbouring fields, rare parts apart."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.api import ApiKey, request_class, response_class
from barnabas.wire.compiler import (
    STEP_BYTES,
    BuildEmitter,
    Later,
    ParseEmitter,
    compile_build,
    compile_parse,
    compile_part,
)
from barnabas.wire.errors import Malformed
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Topology,
)
from barnabas.wire.primitives import Int32
from barnabas.wire.strings import String
from tests.wire.steps import finished


def source_of_parse(message: Any, version: int) -> list[str]:
    out = ParseEmitter()
    message.at(version).reference.emit_parse(out)
    out.flush()
    return [line.strip() for line in out.lines]


def test_neighbouring_fields_are_read_by_one_call() -> None:
    source = source_of_parse(FetchRequest, 12)
    assert [line for line in source if "unpack_" in line and "replica_id" in line] == [
        "o1.replica_id, o1.max_wait_ms, o1.min_bytes, o1.max_bytes, o1.isolation_level, "
        "o1.session_id, o1.session_epoch = unpack_iiiibii(buf, pos)"
    ]


def test_a_length_prefix_joins_the_run_before_it() -> None:
    """Produce v0: acks, timeout and the count of topics."""
    source = source_of_parse(request_class(ApiKey.PRODUCE), 0)
    assert source[1].endswith("= unpack_hii(buf, pos)")


def test_neighbouring_fields_are_written_by_one_call() -> None:
    out = BuildEmitter()
    response_class(ApiKey.FETCH).at(12).reference.emit_build(out, "value")
    assert "out += pack_ihi(value.throttle_time_ms, value.error_code, value.session_id)" in [
        line.strip() for line in out.lines
    ]


def test_runs_end_at_the_edge_of_a_block() -> None:
    out = ParseEmitter()
    first = out.fixed("i")
    with out.block("if True:"):
        second = out.fixed("h")
    assert [line.strip() for line in out.lines] == [
        f"{first}, = unpack_i(buf, pos)",
        "pos += 4",
        "if True:",
        f"{second}, = unpack_h(buf, pos)",
        "pos += 2",
    ]


def test_names_are_never_used_twice() -> None:
    out = ParseEmitter()
    names = [out.fresh(), out.fresh("n"), out.constant(1), out.fixed("i")]
    assert len(set(names)) == len(names)


def test_a_rare_part_is_compiled_when_it_comes() -> None:
    bound = StreamsGroupHeartbeatRequest.at(0)
    request = StreamsGroupHeartbeatRequest.__call__()
    request.group_id = "g"
    decode = compile_parse(bound.reference)
    parts = [part for part in decode.__globals__.values() if isinstance(part, Later)]
    decode(memoryview(bound.build(request)), 0)
    assert not any(part.is_compiled for part in parts)
    request.topology = Topology(epoch=3)
    assert decode(memoryview(bound.build(request)), 0) == request
    assert sum(part.is_compiled for part in parts) == 1


def test_a_part_hands_on_position_and_budget() -> None:
    read = compile_part(Int32)
    assert read(memoryview(b"\xff\x00\x00\x00\x05\xff"), 1, 77) == (5, 5, 77)


def test_parts_share_the_budget_of_the_frame() -> None:
    """Elements read by a function of their own count as well."""
    bound = StreamsGroupHeartbeatRequest.at(0)
    request = StreamsGroupHeartbeatRequest.__call__()
    request.topology = Topology(epoch=3)
    part = compile_part(bound.reference)
    data = memoryview(bound.build(request))
    _, end, left = part(data, 0, 10)
    assert (end, left) == (len(data), 10)


def test_faults_become_protocol_errors() -> None:
    build = compile_build(String)
    for value in (1, b"bytes", "\ud800"):
        with pytest.raises(Malformed, match="a value its field cannot hold"):
            build(value, bytearray(), [])


def test_what_is_large_is_read_and_written_in_steps() -> None:
    """A step is a few thousand bytes, whether one array has them or each of many parts."""
    bound = ListOffsetsRequest.at(9)
    partitions = [ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(1000)]
    few = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[])])
    many = ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsTopic(name="t", partitions=partitions) for _ in range(19)],
    )
    for message, least in ((few, 0), (many, 19)):
        out = bytearray()
        written = finished(bound.encode_in_steps(message, out, []))
        assert out == bound.build(message)
        read = finished(bound.decode_in_steps(memoryview(out), 0))
        assert read.value == message
        for steps in (written.steps, read.steps):
            assert least <= steps <= len(out) // STEP_BYTES
    assert finished(bound.decode_in_steps(memoryview(out), 0)).steps >= len(out) // STEP_BYTES - 21
