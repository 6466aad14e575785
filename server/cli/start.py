"""`barnabas start`: run a broker in the foreground until a signal stops it."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barnabas.server.core.collector import COLLECTOR
from barnabas.server.settings.config import BrokerConfig, ConfigError, load_config

if TYPE_CHECKING:
    from barnabas.server.broker import Broker

ANY_HOST = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # not an address to connect to
DEFAULT_ADDRESS = "127.0.0.1:9092"
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@click.command()
@click.option(
    "--config", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="A server.properties file; may be given more than once, later ones win.",
)  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="One setting, over the files."
)
@click.option("--data-dir", metavar="DIR", help="Where the logs live: log.dirs.")
@click.option("--listen", metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
def start(
    files: tuple[Path, ...], settings: tuple[str, ...], data_dir: str | None, listen: str | None
) -> None:
    """Run a broker until it is told to stop (SIGTERM, SIGINT).

    The first line it prints names the address that clients connect to.

    \b
    barnabas start
    barnabas start --listen 127.0.0.1:0 --data-dir /tmp/data --set num.partitions=3
    """
    overrides = list(settings)
    if data_dir is not None:
        overrides.append(f"log.dirs={data_dir}")
    if listen is not None:
        overrides.append(f"listeners=PLAINTEXT://{listen}")

    def load(pinned: Mapping[str, str]) -> BrokerConfig:
        return load_config(files, [*overrides, *(f"{n}={v}" for n, v in pinned.items())])

    try:
        config = load({})
    except ConfigError as error:
        _fail(str(error), 2)
    from barnabas.server.disks import file_limit
    from barnabas.server.network.reactor import new_event_loop

    file_limit.raise_limit()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        code = runner.run(_serve(config, load))
    sys.exit(code)


async def _serve(config: BrokerConfig, load: Callable[[Mapping[str, str]], BrokerConfig]) -> int:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopping.set)
    if config.barnabas_http_control:
        from barnabas.server.cli.controlled import serve_controlled

        return await serve_controlled(load, stopping)
    return await _serve_one(config, stopping)


async def _serve_one(config: BrokerConfig, stopping: asyncio.Event) -> int:
    from barnabas.server.broker import Broker
    from barnabas.server.core.startup import StartFailed

    broker = Broker(config)
    broker.logs.hear_libraries()
    broker.groups.leadership.on_loaded = COLLECTOR.take_over
    try:
        if not await unless_set(stopping, broker.start()):
            return 0
    except StartFailed as error:
        print(f"barnabas: {error}", file=sys.stderr)
        return 1
    broker.failed.add_done_callback(lambda _: stopping.set())
    announce(broker)
    COLLECTOR.take_over()
    await stopping.wait()
    return await _end(broker)


async def _end(broker: "Broker") -> int:
    from barnabas.server.core.errors import REFUSALS

    if broker.failed.done():
        await broker.crash()  # there is no disk left for an end in good order
        print(f"barnabas: {broker.failed.result()}", file=sys.stderr)
        return 1
    try:
        await broker.stop()
    except REFUSALS as error:
        print(f"barnabas: the broker did not stop in good order: {error}", file=sys.stderr)
        return 1
    return 0


async def unless_set(stopping: asyncio.Event, start: Coroutine[Any, Any, None]) -> bool:
    """Start, which may take long where there is much to load; False if it was to end before."""
    starting = asyncio.create_task(start)
    told = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((starting, told), return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()
    if starting.done():
        starting.result()
        return True
    starting.cancel()
    with suppress(asyncio.CancelledError):
        await starting
    return False


def announce(broker: "Broker") -> None:
    """Say where clients connect to, and to a person what to try."""
    for listener in broker.listeners:
        print(f"listening on {listener.host}:{listener.port} ({listener.name})", flush=True)
    if sys.stdout.isatty():
        first = broker.listeners[0]
        host = ANY_HOST.get(first.host, first.host)
        print(_hint(f"{host}:{first.port}"), flush=True)


def _hint(address: str) -> str:
    """What to try next, for somebody at a terminal; Ctrl-C is how this ends."""
    where = "" if address == DEFAULT_ADDRESS else f" --bootstrap {address}"
    return (
        "\nTry in another terminal:\n"
        f"  echo hello | barnabas produce greetings --create{where}\n"
        f"  barnabas consume greetings{where}\n"
        f"Any Kafka client can connect to {address}. Ctrl-C stops the broker.\n"
    )


def _fail(message: str, code: int) -> None:
    print(f"barnabas: {message}", file=sys.stderr)
    sys.exit(code)
