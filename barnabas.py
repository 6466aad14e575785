"""Makes a bare checkout behave like an installed one: `python -m barnabas`, `pytest`.

The folders beside this file are the sub-packages barnabas.wire, barnabas.storage,
barnabas.server and barnabas.pipeline. Installing puts them inside a real package instead
(pyproject.toml), and this file is left behind.
"""

import sys
from pathlib import Path

__path__ = [str(Path(__file__).parent)]

if __name__ == "__main__":
    from barnabas.server.cli import main

    sys.exit(main())
