"""Codecs: framing as Kafka's, levels, limits, damage."""

import gzip
import resource
import zlib
from threading import Thread
from typing import Any

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.compression import (
    Codec,
    codec_named,
    codec_of,
    compress,
    compress_in_steps,
    decompress,
    decompress_in_steps,
)
from barnabas.storage.batch.steps import Elsewhere, Steps
from barnabas.storage.errors import CorruptBatch, DecompressionTooLarge, UnsupportedCodec

COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
LEVELS = {
    Codec.NONE: [None],
    Codec.GZIP: [None, -1, 1, 9],
    Codec.SNAPPY: [None],
    Codec.LZ4: [None, 1, 9, 17],
    Codec.ZSTD: [None, -131072, -1, 1, 3, 22],
}
TEXT = b"".join(b"%d bottles of beer, " % (i * i % 977) for i in range(20_000))


@pytest.mark.parametrize(("codec", "level"), [(c, lv) for c in Codec for lv in LEVELS[c]])
@pytest.mark.parametrize("size", [0, 1, 1000, len(TEXT)])
def test_round_trip_at_every_kind_of_level(codec: Codec, level: int | None, size: int) -> None:
    data = TEXT[:size]
    for format_0 in (False, True):
        packed = compress(codec, data, level, format_0=format_0)
        assert decompress(codec, memoryview(packed), format_0=format_0) == data


@pytest.mark.parametrize(("codec", "low", "high"), [(1, 1, 9), (3, 1, 17), (4, 1, 22)])
def test_higher_levels_compress_better(codec: int, low: int, high: int) -> None:
    assert len(compress(codec, TEXT, high)) < len(compress(codec, TEXT, low))


@given(st.binary(max_size=3000), st.sampled_from(list(Codec)))
def test_any_bytes(data: bytes, codec: Codec) -> None:
    assert decompress(codec, memoryview(compress(codec, data))) == data


def test_gzip_is_gzip_and_zstd_is_zstd() -> None:
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT
    assert decompress(Codec.GZIP, memoryview(gzip.compress(TEXT[:9]) + gzip.compress(TEXT[9:])))
    assert bytes(cramjam.zstd.decompress(compress(Codec.ZSTD, TEXT))) == TEXT


def test_zstd_frames_with_and_without_a_content_size() -> None:
    stream = cramjam.zstd.Compressor()
    stream.compress(TEXT)
    assert decompress(Codec.ZSTD, memoryview(bytes(stream.finish()))) == TEXT
    for size in (0, 1, 200, 255, 256, 300, 70_000):
        assert decompress(Codec.ZSTD, memoryview(compress(Codec.ZSTD, TEXT[:size]))) == TEXT[:size]


def test_snappy_is_framed_as_xerial_does() -> None:
    packed = compress(Codec.SNAPPY, bytes(40_000))
    assert packed[:16] == b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
    length = int.from_bytes(packed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + length])) == bytes(32 << 10)
    raw = bytes(cramjam.snappy.compress_raw(TEXT))
    assert decompress(Codec.SNAPPY, memoryview(raw)) == TEXT
    assert decompress(Codec.SNAPPY, memoryview(packed + packed)) == bytes(80_000)


def test_lz4_frame_header_and_its_old_mistake() -> None:
    right, wrong = compress(Codec.LZ4, TEXT), compress(Codec.LZ4, TEXT, format_0=True)
    assert right[:7].hex() == "04224d18604082"
    assert wrong[:7].hex() == "04224d1860401a"
    assert right[7:] == wrong[7:]
    with pytest.raises(CorruptBatch):
        decompress(Codec.LZ4, memoryview(wrong))
    assert decompress(Codec.LZ4, memoryview(right), format_0=True) == TEXT
    assert bytes(cramjam.lz4.decompress(right)) == TEXT


def test_lz4_stores_what_does_not_compress() -> None:
    noise = bytes(cramjam.zstd.compress(TEXT))[:5000]
    packed = compress(Codec.LZ4, noise)
    assert len(packed) == 7 + 4 + len(noise) + 4
    assert decompress(Codec.LZ4, memoryview(packed)) == noise


@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize("linked", [False, True])
def test_what_stands_behind_an_lz4_frame_is_not_read(checksums: bool, linked: bool) -> None:
    """Kafka's clients read the first frame alone, so that nobody here may read more."""
    compressor = cramjam.lz4.Compressor(content_checksum=checksums, block_linked=linked)
    compressor.compress(TEXT)
    frame = bytes(compressor.finish())
    for behind in (frame, compress(Codec.LZ4, b"more"), b"\x00\x01\x02"):
        assert decompress(Codec.LZ4, memoryview(frame + behind)) == TEXT
    with pytest.raises(CorruptBatch):
        decompress(Codec.LZ4, memoryview(frame[:-5]))


@pytest.mark.parametrize("codec", COMPRESSING)
def test_bombs_take_no_more_memory_than_the_limit(codec: Codec) -> None:
    bomb = memoryview(compress(codec, bytes(100 << 20)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DecompressionTooLarge):
        decompress(codec, bomb, 1 << 20)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 32 << 10


def taken(steps: Steps[bytes]) -> tuple[bytes, int, int]:
    """What steps return, how many made their call in a thread, and how many were made here."""
    elsewhere = here = 0
    while True:
        try:
            call: Any = next(steps)
        except StopIteration as stop:
            return stop.value, elsewhere, here
        if isinstance(call, Elsewhere):
            thread = Thread(target=call.make)
            thread.start()
            thread.join()
            elsewhere += 1
        else:
            here += 1


@pytest.mark.parametrize(("codec", "level"), [(c, lv) for c in COMPRESSING for lv in LEVELS[c]])
def test_what_is_large_is_compressed_elsewhere_or_in_small_blocks(
    codec: Codec, level: int | None
) -> None:
    """Whoever serves others, too, is held up by no more than a few KB of it."""
    for format_0 in (False, True):
        packed, elsewhere, here = taken(compress_in_steps(codec, TEXT, level, format_0=format_0))
        assert packed == compress(codec, TEXT, level, format_0=format_0)
        assert elsewhere == 1 or here >= len(TEXT) // (64 << 10)
    assert taken(compress_in_steps(codec, TEXT[:1000], level))[1:] == (0, 0)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_what_may_become_large_is_decompressed_elsewhere(codec: Codec) -> None:
    for plain in (TEXT[:200_000], TEXT, bytes(3 << 20)):
        packed = memoryview(compress(codec, plain))
        found, elsewhere, _ = taken(decompress_in_steps(codec, packed))
        assert found == plain
        assert elsewhere == (len(plain) > 256 << 10 or len(packed) > 64 << 10)


@pytest.mark.parametrize("codec", COMPRESSING)
def test_limits_and_damage_are_told_from_elsewhere_as_from_here(codec: Codec) -> None:
    packed = memoryview(compress(codec, bytes(3 << 20)))
    for limit_bytes in (1 << 10, 1 << 20):
        with pytest.raises(DecompressionTooLarge):
            taken(decompress_in_steps(codec, packed, limit_bytes))
    damaged = bytearray(compress(codec, TEXT))
    damaged[len(damaged) // 2 :] = bytes(len(damaged) - len(damaged) // 2 - 1) + b"\x01"
    with pytest.raises(CorruptBatch):
        taken(decompress_in_steps(codec, memoryview(damaged)))


@pytest.mark.parametrize("codec", COMPRESSING)
def test_exactly_the_limit_is_allowed(codec: Codec) -> None:
    packed = memoryview(compress(codec, TEXT))
    assert decompress(codec, packed, len(TEXT)) == TEXT
    with pytest.raises(DecompressionTooLarge):
        decompress(codec, packed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", COMPRESSING)
@given(
    flips=st.lists(st.tuples(st.integers(0, 500), st.integers(0, 255)), max_size=5),
    cut=st.integers(0, 50),
)
def test_damage_is_corrupt_and_nothing_else(
    codec: Codec, flips: list[tuple[int, int]], cut: int
) -> None:
    packed = bytearray(compress(codec, TEXT[:1500]))
    for place, byte in flips:
        packed[place % len(packed)] = byte
    for format_0 in (False, True):
        try:
            decompress(codec, memoryview(packed)[: len(packed) - cut], 1 << 20, format_0=format_0)
        except CorruptBatch:
            pass


@pytest.mark.parametrize("behind", [b"", b"\0" * 10, b"\x1f\x8b", b"no member"])
def test_gzip_members_follow_on_another_and_what_is_behind_them_is_left(behind: bytes) -> None:
    for members in ((TEXT,), (TEXT[:1000], TEXT[1000:]), (b"", TEXT, b"")):
        packed = b"".join(map(gzip.compress, members)) + behind
        assert decompress(Codec.GZIP, memoryview(packed)) == TEXT
        with pytest.raises(DecompressionTooLarge):
            decompress(Codec.GZIP, memoryview(packed), len(TEXT) - 1)
    broken = gzip.compress(TEXT) + gzip.compress(TEXT)[:-20]
    with pytest.raises(CorruptBatch):
        decompress(Codec.GZIP, memoryview(broken))


@pytest.mark.parametrize("behind", [b"", b"\0\0\0\0"])
def test_gzip_members_by_the_thousand_are_never_decompressed_at_once(behind: bytes) -> None:
    """Copying what is left of the batch with each of them took 40 s for 400 KB."""
    few, many = (gzip.compress(b"x") * count + behind for count in (400, 3_000))
    steps = decompress_in_steps(Codec.GZIP, memoryview(few))
    with pytest.raises(StopIteration, match="x"):
        next(steps)
    assert isinstance(next(decompress_in_steps(Codec.GZIP, memoryview(many))), Elsewhere)


def test_gzip_members_leave_little_of_what_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is copied with each of them."""
    packed = memoryview(gzip.compress(bytes(1_000)) * 4_000 + b"\0")
    make, given_bytes = zlib.decompressobj, 0

    class Counting:
        def __init__(self, wbits: int) -> None:
            self._object = make(wbits)

        def decompress(self, data: memoryview, most: int) -> bytes:
            nonlocal given_bytes
            given_bytes += len(data)
            return self._object.decompress(data, most)

        def __getattr__(self, name: str) -> object:
            return getattr(self._object, name)

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    assert decompress(Codec.GZIP, packed) == bytes(4_000_000)
    assert len(packed) < given_bytes < 20 * len(packed)


def test_names_and_numbers() -> None:
    assert codec_named("uncompressed") is codec_named("none") is Codec.NONE
    assert [codec_named(codec.label) for codec in Codec] == list(Codec)
    for bad in (-1, 5, 7):
        with pytest.raises(UnsupportedCodec):
            codec_of(bad)
    with pytest.raises(UnsupportedCodec):
        codec_named("brotli")
