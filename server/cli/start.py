"""`barnabas start`: run a broker in the foreground until a signal stops it."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barnabas.server.cli.output import write_nowhere
from barnabas.server.core.addresses import address, local_address
from barnabas.server.core.collector import COLLECTOR
from barnabas.server.settings.config import BrokerConfig, ConfigError, load_config

if TYPE_CHECKING:
    from barnabas.server.broker import Broker

DEFAULT_ADDRESS = "127.0.0.1:9092"
STOPPED = "stopped"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
Load = Callable[[Mapping[str, str]], BrokerConfig]


@click.command()
@click.option(
    "--config", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="A server.properties file; may be given more than once, later ones win.",
)  # fmt: skip
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="One setting, over the files."
)
@click.option("--data-dir", metavar="DIR", help="Where the logs live: log.dirs.")
@click.option(
    "--listen", metavar="HOST:PORT",
    help="Where to listen; port 0 takes a free one. Without it, without --config and without"
    f" the setting `listeners`: {DEFAULT_ADDRESS}, for this machine alone.",
)  # fmt: skip
@click.option(
    "--test", "for_tests", is_flag=True,
    help="For a program's tests: a free port, a temporary folder, the control over HTTP open, and"
    " the end when the standard input ends or whoever started it.",
)  # fmt: skip
def start(
    files: tuple[Path, ...],
    settings: tuple[str, ...],
    data_dir: str | None,
    listen: str | None,
    for_tests: bool,
) -> None:
    """Run a broker until it is told to stop (SIGTERM, SIGINT).

    The first line it prints names the address that clients connect to.

    \b
    barnabas start
    barnabas start --listen 127.0.0.1:0 --data-dir /tmp/data --set num.partitions=3
    barnabas start --test
    """
    with ExitStack() as stack:
        if for_tests:
            load = _loader_for_tests(stack, files, settings, data_dir, listen)
        else:
            load = _loader(files, overrides_of(files, settings, data_dir, listen))
        code = _run(load, os.getppid() if for_tests else None)
    sys.exit(code)


def _loader(
    files: Sequence[Path], overrides: Sequence[str], defaults: Mapping[str, str] | None = None
) -> Load:
    """What reads the settings, again and again if need be, with some of them pinned."""

    def load(pinned: Mapping[str, str]) -> BrokerConfig:
        pairs = (f"{name}={value}" for name, value in pinned.items())
        return load_config(files, [*overrides, *pairs], defaults)

    return load


def _loader_for_tests(
    stack: ExitStack,
    files: Sequence[Path],
    settings: Sequence[str],
    data_dir: str | None,
    listen: str | None,
) -> Load:
    from barnabas.server.cli.for_tests import DEFAULTS, folder, places

    where = places(listen, settings, stack.enter_context(folder(data_dir)))
    return _loader(files, [*where, *settings, *_listeners(listen)], DEFAULTS)


def _run(load: Load, parent_id: int | None) -> int:
    try:
        config = load({})
    except ConfigError as error:
        print(f"barnabas: {error}", file=sys.stderr)
        return 2
    from barnabas.server.disks import file_limit
    from barnabas.server.network.reactor import new_event_loop

    file_limit.raise_limit()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(_serve(config, load, parent_id))


def overrides_of(
    files: Sequence[Path], settings: Sequence[str], data_dir: str | None, listen: str | None
) -> list[str]:
    """The settings that the command line puts over the files', as NAME=VALUE.

    Who has written no word about listeners has a broker for this machine alone; Kafka's rule,
    every interface, holds for files.
    """
    overrides = list(settings)
    if data_dir is not None:
        overrides.append(f"log.dirs={data_dir}")
    overrides += _listeners(listen)
    if (
        listen is None
        and not files
        and not any(each.partition("=")[0] == "listeners" for each in settings)
    ):
        overrides.append(f"listeners=PLAINTEXT://{DEFAULT_ADDRESS}")
    return overrides


def _listeners(listen: str | None) -> list[str]:
    return [] if listen is None else [f"listeners=PLAINTEXT://{listen}"]


async def _serve(config: BrokerConfig, load: Load, parent_id: int | None = None) -> int:
    """Serve until a signal comes, or the end of a parent that the broker is to end with."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    if parent_id is not None:
        from barnabas.server.cli.for_tests import wait_for_parents_end

        watching = asyncio.create_task(wait_for_parents_end(parent_id))
        watching.add_done_callback(lambda _: stopping.set())
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
    say(STOPPED)
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


def say(line: str) -> None:
    """Print a line for whoever reads: a broker goes on when nobody does, or the disk is full."""
    try:
        print(line, flush=True)
    except OSError:
        write_nowhere()


def announce(broker: "Broker") -> None:
    """Say where clients connect to, and to a person what to try."""
    for listener in broker.listeners:
        where = address(listener.host, listener.port)
        say(f"listening on {where} ({listener.name})")
    if sys.stdout.isatty():
        first = broker.listeners[0]
        say(_hint(local_address(first.host, first.port)))


def _hint(address: str) -> str:
    """What to try next, for somebody at a terminal; Ctrl-C is how this ends."""
    where = "" if address == DEFAULT_ADDRESS else f" --bootstrap {address}"
    return (
        "\nTry in another terminal:\n"
        f"  echo hello | barnabas produce greetings --create{where}\n"
        f"  barnabas consume greetings{where}\n"
        f"Any Kafka client can connect to {address}. Ctrl-C stops the broker.\n"
    )
