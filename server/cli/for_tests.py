"""`barnabas start --test`: a broker for the tests of a program in any language.

It takes a free port and a temporary folder, opens its control, and ends when whoever started it
does: by the end of its standard input, where that is a pipe, or when its parent has gone.
"""

import asyncio
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

from barnabas.server.testing.broker import TEST_SETTINGS

ANY_PORT: Final = "127.0.0.1:0"
CONTROL: Final = {"barnabas.http.port": "0", "barnabas.http.control": "true"}
# What holds where neither a file nor the command line says otherwise.
DEFAULTS: Final[Mapping[str, str]] = {**TEST_SETTINGS, **CONTROL}
PARENT_CHECK_S: Final = 1.0
_STDIN: Final = 0


def places(listen: str | None, settings: Sequence[str], data_dir: str) -> list[str]:
    """Where it listens and lives without another word on the command line.

    A file's addresses and directories are those of a broker that may be running.
    """
    given = {each.partition("=")[0].strip() for each in settings}
    wanted = {"log.dirs": data_dir, "advertised.listeners": ""}
    if listen is None:
        wanted["listeners"] = f"PLAINTEXT://{ANY_PORT}"
    return [f"{name}={value}" for name, value in wanted.items() if name not in given]


@contextmanager
def folder(data_dir: str | None) -> Iterator[str]:
    """The given data directory, or a temporary one that is removed at the end."""
    if data_dir is not None:
        yield data_dir
        return
    made = tempfile.mkdtemp(prefix="barnabas-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


async def wait_for_parents_end(parent_id: int) -> None:
    """Wait until the standard input ends, or the parent has gone."""
    ended = asyncio.Event()
    if _is_pipe(_STDIN):
        _watch(ended)
    while not ended.is_set() and os.getppid() == parent_id:
        with suppress(TimeoutError):
            async with asyncio.timeout(PARENT_CHECK_S):
                await ended.wait()


def _is_pipe(number: int) -> bool:
    """Whether its end says anything: that of /dev/null, a file or a terminal does not."""
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _watch(ended: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            some = os.read(_STDIN, 4096)
        except OSError:
            some = b""
        if not some:
            loop.remove_reader(_STDIN)
            ended.set()

    loop.add_reader(_STDIN, read)
