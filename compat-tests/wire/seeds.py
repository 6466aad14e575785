"""Where random values begin: always the same in CI, elsewhere anew in every run.

BARNABAS_SEED repeats a run whose failure named its seed.
"""

import os
import random

FIRST_SEED = int(
    os.environ.get("BARNABAS_SEED") or (0 if os.environ.get("CI") else random.randrange(2**31))
)
