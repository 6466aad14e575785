"""Frames come out whole and in order, however the bytes come in."""

from __future__ import annotations

import random
import subprocess
import sys
from mmap import PAGESIZE
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.wire.connection import receive
from barnabas.wire.errors import Malformed
from barnabas.wire.frame import FIRST_BYTES, READ_AHEAD_BYTES, FrameBuffer, FrameTooLarge, frame

BODIES = [b"", b"x", b"hello", bytes(range(256)), b"y" * 70_000, b"", b"last"]


def feed(buffer: FrameBuffer, data: bytes, at_most: int) -> list[bytes]:
    """Put `data` in as a socket would, `at_most` bytes a read, and take out what is whole."""
    frames: list[bytes] = []
    start = 0
    while start < len(data):
        room = buffer.writable()
        count = min(at_most, len(room), len(data) - start)
        assert count > 0
        room[:count] = data[start : start + count]
        buffer.received(count)
        start += count
        frames += whole(buffer)
    return frames


def whole(buffer: FrameBuffer) -> list[bytes]:
    frames = []
    while buffer.has_frame():
        view = buffer.next_frame()
        assert view is not None
        frames.append(bytes(view))
    assert buffer.next_frame() is None
    return frames


def test_a_frame_is_its_length_and_its_body() -> None:
    assert frame(b"abc") == b"\x00\x00\x00\x03abc"
    assert frame(b"") == b"\x00\x00\x00\x00"


@pytest.mark.parametrize("at_most", [1, 3, 4, 5, 4096, 1 << 20])
def test_frames_come_out_whole_and_in_order(at_most: int) -> None:
    stream = b"".join(map(frame, BODIES))
    assert feed(FrameBuffer(), stream, at_most) == BODIES


def test_a_byte_at_a_time_there_is_no_frame_until_the_last() -> None:
    buffer = FrameBuffer()
    *all_but_last, last = frame(b"hello")
    for byte in all_but_last:
        assert feed(buffer, bytes([byte]), 1) == []
    assert feed(buffer, bytes([last]), 1) == [b"hello"]
    assert len(buffer) == 0


def test_many_frames_in_one_read() -> None:
    bodies = [number.to_bytes(2, "big") for number in range(1000)]
    buffer = FrameBuffer()
    stream = b"".join(map(frame, bodies))
    room = buffer.writable()
    assert len(room) >= len(stream)
    room[: len(stream)] = stream
    buffer.received(len(stream))
    assert len(buffer) == len(stream)
    assert whole(buffer) == bodies


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=3 * FIRST_BYTES), max_size=8), st.integers(0, 2**32))
def test_any_frames_in_any_pieces(bodies: list[bytes], seed: int) -> None:
    source, buffer, found = random.Random(seed), FrameBuffer(), []
    stream = b"".join(map(frame, bodies))
    while stream:
        piece = source.choice((1, 2, 7, 100, 5000, 40_000))
        found += feed(buffer, stream[:piece], piece)
        stream = stream[piece:]
    assert found == bodies


def test_a_view_stays_good_until_more_is_read() -> None:
    buffer = FrameBuffer()
    stream = frame(b"first") + frame(b"second")
    buffer.writable()[: len(stream)] = stream
    buffer.received(len(stream))
    views = [buffer.next_frame(), buffer.next_frame()]
    assert [bytes(view or b"") for view in views] == [b"first", b"second"]


def test_exactly_the_largest_frame_passes() -> None:
    buffer = FrameBuffer(max_frame_bytes=100_000)
    body = random.Random(1).randbytes(100_000)
    assert feed(buffer, frame(body), 1 << 16) == [body]


@pytest.mark.parametrize("length", [100_001, 1 << 30, 0x7FFF_FFFF])
def test_a_frame_above_the_limit_is_refused_by_its_length(length: int) -> None:
    buffer = FrameBuffer(max_frame_bytes=100_000)
    buffer.writable()[:4] = length.to_bytes(4, "big")
    buffer.received(4)
    assert buffer.has_frame()
    with pytest.raises(FrameTooLarge, match=r"socket\.request\.max\.bytes allows 100000"):
        buffer.next_frame()
    assert buffer.capacity_bytes <= FIRST_BYTES


@pytest.mark.parametrize("length", [-1, -(2**31)])
def test_a_negative_length_is_malformed(length: int) -> None:
    buffer = FrameBuffer()
    buffer.writable()[:4] = length.to_bytes(4, "big", signed=True)
    buffer.received(4)
    assert buffer.has_frame()
    with pytest.raises(Malformed, match=f"a frame of {length} bytes"):
        buffer.next_frame()


def test_an_announced_length_alone_takes_no_memory() -> None:
    """A client says 100 MB and sends ten bytes."""
    buffer = FrameBuffer()
    assert feed(buffer, (100 << 20).to_bytes(4, "big") + b"ten bytes.", 64) == []
    buffer.writable()
    assert buffer.capacity_bytes <= 4 * FIRST_BYTES


def test_a_client_that_sends_slowly_gets_no_more_room_than_it_has_filled() -> None:
    buffer, sent = FrameBuffer(), (100 << 20).to_bytes(4, "big")
    for _ in range(300):
        assert feed(buffer, sent, 64) == []
        sent = b"a little"
    buffer.writable()
    assert buffer.capacity_bytes <= 2 * FIRST_BYTES


def test_a_client_that_fills_the_buffer_gets_more_room() -> None:
    """Many small frames in a row come by few reads; the buffer stops growing at a size."""
    buffer, reads, stream = FrameBuffer(), 0, frame(bytes(3000)) * 400
    while stream:
        room = buffer.writable()
        count = min(len(room), len(stream))
        room[:count] = stream[:count]
        stream = stream[count:]
        buffer.received(count)
        reads += 1
        whole(buffer)
    assert buffer.capacity_bytes == READ_AHEAD_BYTES
    assert reads < 20


def test_a_buffer_that_grew_is_used_again_and_given_back_when_cleared() -> None:
    buffer = FrameBuffer()
    assert len(feed(buffer, frame(bytes(1 << 20)), 1 << 16)) == 1
    grown = buffer.capacity_bytes
    for _ in range(2 * grown // 100_000):
        assert len(feed(buffer, frame(bytes(100_000)), 1 << 16)) == 1
    assert buffer.capacity_bytes == grown
    buffer.clear()
    assert (buffer.capacity_bytes, len(buffer)) == (0, 0)
    assert feed(buffer, frame(b"again"), 1 << 16) == [b"again"]


def test_the_key_of_the_next_frame_shows_before_it_is_whole() -> None:
    buffer = FrameBuffer()
    assert buffer.peek_api_key() is None
    feed(buffer, b"\x00\x00\x00\x64\x00", 64)
    assert buffer.peek_api_key() is None
    feed(buffer, b"\x12", 64)
    assert buffer.peek_api_key() == 18
    assert not buffer.has_frame()


def test_the_size_of_the_next_frame_shows_as_soon_as_its_length_is_here() -> None:
    buffer = FrameBuffer(max_frame_bytes=1000)
    assert buffer.begun_bytes() == 0
    feed(buffer, b"\x00\x00\x00", 64)
    assert buffer.begun_bytes() == 0
    feed(buffer, b"\x64", 64)
    assert buffer.begun_bytes() == 104


@pytest.mark.parametrize("length", [b"\x00\x00\x03\xe9", b"\xff\xff\xff\xff"])
def test_a_bad_length_has_no_size(length: bytes) -> None:
    buffer = FrameBuffer(max_frame_bytes=1000)
    room = buffer.writable()
    room[:4] = length
    buffer.received(4)
    assert buffer.begun_bytes() == 0


@pytest.mark.parametrize("seed", range(50))
def test_a_frame_in_use_keeps_its_bytes_whatever_comes_behind_it(seed: int) -> None:
    random_numbers = random.Random(seed)
    bodies = [
        random_numbers.randbytes(random_numbers.choice((0, 1, 60, 5_000, 20_000, 150_000)))
        for _ in range(12)
    ]
    data, buffer, served = b"".join(map(frame, bodies)), FrameBuffer(), 0
    while served < len(bodies):
        view = buffer.next_frame()
        for _ in range(random_numbers.randrange(4)):
            room = buffer.writable() if view is None else buffer.writable_behind()
            count = min(len(room), len(data), random_numbers.choice((1, 4_000, 1 << 20)))
            room[:count], data = data[:count], data[count:]
            buffer.received(count)
        if view is not None:
            assert view == bodies[served]
            served += 1


def test_what_comes_behind_a_frame_in_use_is_moved_a_few_times_only() -> None:
    buffer = FrameBuffer()
    receive(buffer, frame(b"in use"))
    view, data = buffer.next_frame(), frame(bytes(3_000_000))
    buffers, at = set(), 0
    while at < len(data):
        room = buffer.writable_behind()
        part = data[at : at + min(4_000, len(room))]
        room[: len(part)] = part
        buffer.received(len(part))
        at += len(part)
        buffers.add(buffer.capacity_bytes)
    assert view is not None and bytes(view) == b"in use"
    assert whole(buffer) == [data[4:]]
    assert len(buffers) <= 12  # doubled each time


def resident_bytes() -> int:
    """What this process has of the machine's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGESIZE


def test_a_large_frame_moves_once_into_room_of_its_own_size() -> None:
    buffer, body = FrameBuffer(), bytes(range(256)) * (40 << 12)
    data, buffers, rooms = memoryview(frame(body)), list[int](), set[int]()
    while data:
        room = buffer.writable()
        rooms.add(len(room))
        count = min(len(room), len(data), 300_000)
        room[:count], data = data[:count], data[count:]
        buffer.received(count)
        if buffer.capacity_bytes not in buffers:
            buffers.append(buffer.capacity_bytes)
    assert whole(buffer) == [body]
    # By doubling to a megabyte, then to where it ends; and no read is to take more than that.
    assert [size for size in buffers if size > 1 << 20] == [len(body) + 4]
    assert max(rooms) <= 1 << 20
    assert len(buffer.writable()) <= 1 << 20


def test_an_announced_length_takes_no_more_memory_than_what_has_come() -> None:
    before = resident_bytes()
    buffers = [FrameBuffer(1 << 30) for _ in range(3)]
    for buffer in buffers:
        feed(buffer, (1 << 30).to_bytes(4, "big") + bytes(3 << 20), 1 << 20)
        assert buffer.capacity_bytes == (1 << 30) + 4
    assert resident_bytes() - before < 100 << 20


def test_a_large_frame_comes_where_the_system_gives_no_room_beforehand() -> None:
    """The address space ends at 512 MB: a gigabyte that is announced cannot be set aside."""
    script = (
        "import resource\n"
        "from barnabas.wire.frame import FrameBuffer\n"
        "resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))\n"
        "buffer = FrameBuffer(1 << 30)\n"
        "data = memoryview((1 << 30).to_bytes(4, 'big') + bytes(9 << 20))\n"
        "while data:\n"
        "    room = buffer.writable()\n"
        "    count = min(len(room), len(data))\n"
        "    room[:count], data = data[:count], data[count:]\n"
        "    buffer.received(count)\n"
        "print(len(buffer), buffer.capacity_bytes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str((9 << 20) + 4), str(16 << 20)]
