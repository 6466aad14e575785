"""Golden directories with files changed, cut and overwritten at random: rows, or one sentence."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from barnabas.pipeline.log_source.errors import LogSourceError
from tests.storage.golden import CASES, unpack

from .reads import rows

READS: tuple[dict[str, str], ...] = (
    {"kafka__isolation__level": "read_committed", "maxPartitionBytes": "200"},
    {"failOnDataLoss": "false", "includeControl": "true", "includeHeaders": "true"},
    {"startingTimestamp": "1700000003000", "startingOffsetsByTimestampStrategy": "latest"},
)


def damaged(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    match rng.randrange(3):
        case 0:
            return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        case 1:
            return data[:place]
    return data[:place] + rng.randbytes(rng.randint(1, 200))


@pytest.mark.parametrize("seed", range(24))
def test_damage_anywhere_is_one_sentence_or_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    if not CASES:
        pytest.skip("the golden data is not beside the repository (../shared/golden)")
    root = unpack(*rng.choice(CASES), tmp_path)
    files = sorted(each for each in root.rglob("*") if each.is_file() and each.stat().st_size)
    for path in rng.sample(files, min(3, len(files))):
        path.chmod(0o644)
        path.write_bytes(damaged(path.read_bytes(), rng))
    for options in READS:
        try:
            rows(*(sorted(root.glob("b[0-9]")) or [root]), **options)
        except LogSourceError as error:
            assert "\n" not in str(error)
