"""CRC-32C, without what the package around it brings along.

Importing `crc32c` runs its `__init__`, which imports importlib.metadata and argparse to state
a version and offer a command: 20 ms, a tenth of a broker's start. The function itself is in
the package's extension module, which is loaded here alone.
"""

from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Final, cast

Buffer = bytes | bytearray | memoryview


def _load() -> Callable[[Buffer, int], int]:
    package = find_spec("crc32c")
    places = package.submodule_search_locations if package is not None else None
    spec = PathFinder.find_spec("crc32c._crc32c", places) if places else None
    if spec is None or spec.loader is None:
        raise ImportError("the crc32c package has no module _crc32c; install crc32c 2.7 or newer")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Callable[[Buffer, int], int], module.crc32c)


crc32c: Final[Callable[..., int]] = _load()
"""`crc32c(data, value=0)`: the checksum of `data`, going on from `value`."""
