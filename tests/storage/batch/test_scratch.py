"""Room for what a codec writes, also where no descriptor is left for it."""

import os
import resource

import pytest

from barnabas.storage.batch.compression import Codec, compress, decompress

PLAIN = bytes(range(256)) * (16 << 10)
CODECS = [Codec.GZIP, Codec.LZ4, Codec.ZSTD]


def next_descriptor() -> int:
    """The lowest that is free: all below are in use."""
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    return free


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_large_batch_is_decompressed_whatever_descriptors_are_left(
    codec: Codec, left: int
) -> None:
    packed = memoryview(compress(codec, PLAIN))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = next_descriptor()
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + left, hard))
    try:
        plain = decompress(codec, packed)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert plain == PLAIN
    assert next_descriptor() == free
