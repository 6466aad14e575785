"""`barnabas start` with `barnabas.http.control`: a broker that tests of any language drive.

The process is the host of its brokers (`barnabas.server.testing.host`): it goes on while the
broker is stopped, crashed, set back or made another Kafka by a command.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping

from barnabas.server.cli.start import STOPPED, announce, say, unless_set
from barnabas.server.core.addresses import address
from barnabas.server.core.startup import StartFailed
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.testing.host import Host


async def serve_controlled(
    load: Callable[[Mapping[str, str]], BrokerConfig], stopping: asyncio.Event
) -> int:
    """Serve until `stopping` is set; the exit code."""
    host, failures = Host(load), list[str]()
    host.logs.hear_libraries()

    def failed(reason: str) -> None:
        failures.append(reason)
        stopping.set()

    host.on_failed = failed
    try:
        if not await unless_set(stopping, host.open()):
            return 0
    except StartFailed as error:
        print(f"barnabas: {error}", file=sys.stderr)
        return 1
    announce(host.broker)
    assert host.http is not None
    say(f"control on http://{address(host.config.barnabas_http_host, host.http.port)}")
    await stopping.wait()
    if failures:
        await host.crash()  # there is no disk left for an end in good order
        print(f"barnabas: {failures[0]}", file=sys.stderr)
    await host.close()
    if not failures:
        say(STOPPED)
    return 1 if failures else 0
