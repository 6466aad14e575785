"""The sizes that tests shrink, for once as they are: `scripts/real-sizes`.

A hundred segments into one, two gigabytes compacted, a segment just below 2^31 bytes, offsets
just below 2^63, five thousand partitions with retention and compaction on. Takes minutes, at
most ten, and 5 GB of disk. Exit code 1 for anything lost, doubled or changed.
"""

import argparse
import faulthandler
import logging
import sys
import tempfile
import time
import traceback
from pathlib import Path

from .partitions import five_thousand_partitions
from .running import abandon_all
from .sizes import (
    hundred_segments_into_one,
    offsets_far_apart,
    offsets_near_2_63,
    two_gigabytes,
)

LONGEST_S = 600
CHECKS = (
    hundred_segments_into_one,
    offsets_near_2_63,
    offsets_far_apart,
    two_gigabytes,
    five_thousand_partitions,
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/real-sizes", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("checks", nargs="*", help=", ".join(each.__name__ for each in CHECKS))
    parser.add_argument("--folder", type=Path, help="where there is room (default: TMPDIR)")
    chosen = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)  # which exits with code 1
    failures = 0
    for each in CHECKS:
        if not chosen.checks or each.__name__ in chosen.checks:
            begin = time.monotonic()
            with tempfile.TemporaryDirectory(
                prefix="real-sizes-", dir=chosen.folder, ignore_cleanup_errors=True
            ) as folder:
                try:
                    said = each(Path(folder))
                except Exception:
                    failures += 1
                    abandon_all()
                    said = f"FAILED\n{traceback.format_exc()}"
            print(f"{each.__name__} ({time.monotonic() - begin:.0f} s): {said}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
