"""The process that `Broker(process=True)` keeps its broker in; see `process_link`.

It ends when its standard input does, or when its parent has gone: a forked sibling may hold the
input open long after. Ctrl-C at a terminal reaches it too, and is for the parent to act on.
"""

import asyncio
import base64
import json
import os
import pickle
import shutil
import signal
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from barnabas.server.network.reactor import new_event_loop
from barnabas.server.settings.config import BrokerConfig, load_config
from barnabas.server.testing.host import Host

PARENT_CHECK_S = 1.0
STDIN, STDOUT, STDERR = 0, 1, 2


def run(order: Mapping[str, Any]) -> NoReturn:
    """Serve until the order is withdrawn, and end the process.

    The interpreter's own tidying would take 30 ms, and there is nothing left to tidy.
    """
    code = _main(order)
    sys.stderr.flush()
    os._exit(code)


def _main(order: Mapping[str, Any]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(order))
    finally:
        if order["remove"]:
            shutil.rmtree(order["settings"]["log.dirs"], ignore_errors=True)


async def _serve(order: Mapping[str, Any]) -> int:
    def load(pinned: Mapping[str, str]) -> BrokerConfig:
        return load_config((), {**order["settings"], **pinned})

    try:
        host = Host(load)
        host.logs.hear_libraries()
        await host.open()
    except Exception as error:
        _report({"error": base64.b64encode(_pickled(error)).decode()})
        return 1
    assert host.http is not None
    _report(
        {
            "port": host.endpoints[0].port,
            "bootstrap_servers": host.bootstrap_servers,
            "control_host": host.config.barnabas_http_host,
            "control_port": host.http.port,
        }
    )
    await _withdrawn(order["parent"])
    await host.close()
    return 0


async def _withdrawn(parent_id: int) -> None:
    """Wait for the end of the input, of the parent, or for SIGTERM."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        if not os.read(STDIN, 4096):
            loop.remove_reader(STDIN)
            ended.set()

    loop.add_reader(STDIN, read)
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    while not ended.is_set() and os.getppid() == parent_id:
        try:
            async with asyncio.timeout(PARENT_CHECK_S):
                await ended.wait()
        except TimeoutError:
            continue


def _report(answer: Mapping[str, object]) -> None:
    """The one line for the parent; what anybody prints after it goes to standard error.

    The pipe itself stays open to the end of this process, which the parent learns by it.
    """
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    os.dup(STDOUT)
    os.dup2(STDERR, STDOUT)


def _pickled(error: Exception) -> bytes:
    """The error for the parent, or its text where it cannot travel."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
        return data
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
