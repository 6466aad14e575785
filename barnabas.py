"""Makes a bare checkout behave like an installed one: `python -m barnabas`, `pytest`.

The folders beside this file are the sub-packages barnabas.wire, barnabas.storage,
barnabas.server and barnabas.pipeline. Installing puts them inside a real package instead
(pyproject.toml), and this file is left behind.
"""

import sys
from pathlib import Path
from typing import Any

__path__ = [str(Path(__file__).parent)]


def __getattr__(name: str) -> Any:
    from barnabas.server.entry import __getattr__ as find

    return find(name)


if __name__ == "__main__":
    from barnabas.server.cli.main import main

    sys.exit(main())
