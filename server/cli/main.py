"""The `barnabas` command: one click group, its commands imported when they are asked for.

`barnabas start` must be listening within a quarter of a second, so no command pays for
another one's imports. Every command ends in one of these ways: 0, done (or the reader of the
standard output has seen enough); 1, it could not be done; 2, what was typed is wrong; 130,
Ctrl-C; 143, SIGTERM. Whatever went wrong is one sentence on the standard error.
"""

import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from barnabas.server.cli.failures import (
    INTERRUPTED,
    TERMINATED,
    Failure,
    reason_of,
    sentence_of,
)
from barnabas.server.cli.groups_of_commands import LazyGroup
from barnabas.server.cli.output import write_nowhere
from barnabas.server.cli.signals import Terminated

COMPLETING = "_BARNABAS_COMPLETE"
CANNOT_WRITE = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)

# name -> (module, attribute, one line for the list of commands)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "start": ("barnabas.server.cli.start", "start", "Run a broker."),
    "topics": ("barnabas.server.cli.topics", "topics", "List, create, alter, delete topics."),
    "produce": ("barnabas.server.cli.produce", "produce", "Send lines, CSV or JSON lines."),
    "consume": ("barnabas.server.cli.consume", "consume", "Print the records of a topic."),
    "groups": ("barnabas.server.cli.groups", "groups", "Look at groups, move their offsets."),
    "transactions": (
        "barnabas.server.cli.transactions",
        "transactions",
        "Look at transactions, end what hangs.",
    ),
    "profiles": ("barnabas.server.cli.profile_list", "profiles", "List clusters by name."),
    "configs": ("barnabas.server.cli.configs", "configs", "Get and set settings."),
    "cluster": ("barnabas.server.cli.cluster", "cluster", "Run brokers, look after a cluster."),
    "top": ("barnabas.server.cli.top", "top", "Watch rates, lag and brokers."),
    "zookeeper": (
        "barnabas.server.cli.zookeeper",
        "zookeeper",
        "Run Apache ZooKeeper, to develop with.",
    ),
    "log": ("barnabas.server.cli.log", "log", "Look into, check and mend log files."),
    # By name only: the broker is complete without PySpark and never imports the pipeline.
    "pipeline": ("barnabas.pipeline.cli", "pipeline", "Land, audit, replay topics with Spark."),
    "completion": ("barnabas.server.cli.completion", "completion", "Complete in a shell."),
}


class Barnabas(LazyGroup):
    """The whole command: how it fails, and how it is interrupted."""

    commands_by_name = COMMANDS

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run; end the process with the exit code that tells what happened."""
        options["standalone_mode"] = False
        if COMPLETING in os.environ:
            from barnabas.server.cli.bash_words import know_bash

            know_bash()
        options["prog_name"] = options.get("prog_name") or "barnabas"
        _open_what_is_closed()
        try:
            with _writing():
                code = self._run(*arguments, **options)
        except click.ClickException as error:
            print(sentence_of(error), file=sys.stderr)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)

    def _run(self, *arguments: Any, **options: Any) -> Any:
        """Run a command, or print the help that it is or that was asked for."""
        try:
            return super().main(*arguments, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            print(error.message)
            return 0

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command: Ctrl-C is quiet, where click would write a line of its own."""
        try:
            with _writing():
                return super().invoke(ctx)
        except Terminated:
            ctx.exit(TERMINATED)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


@contextmanager
def _writing() -> Iterator[None]:
    """Write what is still held back; a reader that has gone is no error, a full disk is one.

    It need not be the standard output that is full: a command that writes files says which.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        write_nowhere()
        sys.exit(0)
    except OSError as error:
        if error.errno not in CANNOT_WRITE:
            raise
        if not _is_stuck(error):
            where = f"{error.filename}: " if error.filename else ""
            raise Failure(f"{where}{reason_of(error)}") from error
        write_nowhere()
        raise Failure(f"standard output: {reason_of(error)}") from error


def _is_stuck(error: OSError) -> bool:
    """Whether it is the standard output that could not be written.

    What it could not write it holds back, and fails once more. Unbuffered it holds nothing back;
    then it may be one where it is a file: terminals and pipes are never full.
    """
    try:
        sys.stdout.flush()
    except OSError:
        return True
    if error.filename or not isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase):
        return False
    return not (sys.stdout.isatty() or stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode))


def _open_what_is_closed() -> None:
    """`<&-` and `>&-` leave no stream at all, and a socket would take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDWR)
            if file != number:
                os.dup2(file, number)
                os.close(file)
            setattr(sys, name, os.fdopen(number, mode))


def _how_it_runs() -> str:
    from barnabas.wire import varint

    module = Path(str(varint.__file__))
    if module.suffix != ".py":
        return "compiled"
    why = module.parents[1] / "uncompiled.txt"  # left by setup.py
    return f"interpreted ({why.read_text().strip()})" if why.exists() else "interpreted"


def _say_version(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    """The release, and whether its hot modules are compiled (setup.py): a matter of speed."""
    if is_asked:
        from importlib.metadata import version

        click.echo(f"barnabas {version('barnabas')}, {_how_it_runs()}")
        ctx.exit()


@click.command(cls=Barnabas, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_say_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Barnabas: a message broker that speaks the Apache Kafka wire protocol.

    \b
    barnabas start                                 # a broker on 127.0.0.1:9092
    barnabas topics create orders --partitions 3
    echo hello | barnabas produce orders
    barnabas consume orders
    """
