"""The `barnabas` command as a process: exit codes, pipes, signals, terminals, completion."""

import errno
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import IO

import click
import pytest

from barnabas.server.cli.main import Barnabas
from barnabas.server.network import outbox
from barnabas.server.testing.broker import Broker
from tests.server.cli.conftest import on_a_terminal
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import Transactional, find_coordinator

BARNABAS = (sys.executable, "-m", "barnabas")


def barnabas(
    *arguments: str, broker: Broker | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    if broker is not None:
        environment["BARNABAS_BOOTSTRAP"] = broker.bootstrap_servers
    return subprocess.run(
        [*BARNABAS, *arguments],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_version_says_how_it_runs() -> None:
    told = barnabas("--version").stdout
    kind = "interpreted" if str(outbox.__file__).endswith(".py") else "compiled"
    assert told == f"barnabas {version('barnabas')}, {kind}\n"


def line_of(stream: IO[bytes] | None) -> bytes:
    assert stream is not None
    return stream.readline()


def test_nothing_is_imported_that_a_command_does_not_need() -> None:
    code = (
        "import sys\n"
        "from barnabas.server.cli.main import main\n"
        "try: main(['start', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'rich', 'kafka', 'construct'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("topcis",), "there is no command topcis (did you mean topics?)"),
        (("zzzzzz",), "there are start, topics, produce"),
        (("--bootstrp",), "no such option '--bootstrp'"),
        (("topics", "list", "--bootstrap", "nowhere:x"), "'nowhere:x' is not HOST:PORT"),
        (("topics", "list", "--client", "x"), "--client: 'x' is not NAME=VALUE"),
        (("topics", "list", "--client", "sasl.mechanisn=PLAIN"), "did you mean sasl.mechanism?"),
    ],
)
def test_bad_input_is_one_sentence(broker: Broker, arguments: tuple[str, ...], words: str) -> None:
    run = barnabas(*arguments, broker=broker)
    assert run.returncode == 2
    assert words in run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""


@pytest.mark.parametrize(
    "words", [(), ("-h",), ("topics",), ("topics", "-h"), ("groups",), ("top", "-h")]
)
def test_help_is_laid_out(words: tuple[str, ...]) -> None:
    run = barnabas(*words)
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0].startswith("Usage: barnabas")
    assert "Commands:" in lines or words[0] == "top"
    assert "  -h, --help " in run.stdout and "\\b" not in run.stdout


def test_a_full_disk_is_one_sentence(broker: Broker) -> None:
    broker.create_topic("full")
    for command in ("topics list --json", "consume full"):
        barnabas("produce", "full", "--key", "k", broker=broker)
        run = subprocess.run(
            f"echo x | {sys.executable} -m barnabas produce full --json >/dev/null;"
            f" {sys.executable} -m barnabas {command} >/dev/full",
            env=os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap_servers},
            shell=True, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert run.returncode == 1
        assert run.stderr == "barnabas: standard output: no space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["", "--help", "--version", "topics", "topics list --help"])
def test_a_full_disk_is_one_sentence_for_help_too(words: str, unbuffered: str) -> None:
    run = subprocess.run(
        f"{sys.executable} -m barnabas {words} >/dev/full",
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        shell=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (
        1, "barnabas: standard output: no space left on device\n",
    )  # fmt: skip


@pytest.mark.parametrize("filename", [None, "/data/lake/x"])
def test_a_full_disk_that_is_not_the_standard_output_s_is_not_said_to_be(
    filename: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    class Filling(Barnabas):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
            return click.Command(cmd_name, callback=fill)

    def fill() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", filename)

    filling = Filling()
    filling.commands_by_name = {"fill": ("", "", "")}
    with pytest.raises(SystemExit) as ended:
        filling.main(["fill"])
    where = f"{filename}: " if filename else ""
    assert (ended.value.code, capsys.readouterr().err) == (
        1, f"barnabas: {where}no space left on device\n",
    )  # fmt: skip


@pytest.mark.parametrize("command", ["consume shut >&-", "topics list >&-", "produce shut <&-"])
def test_a_stream_that_is_closed_is_no_traceback(broker: Broker, command: str) -> None:
    barnabas("topics", "create", "shut", "--if-not-exists", broker=broker)
    run = subprocess.run(
        f"{sys.executable} -m barnabas {command}", shell=True, capture_output=True, text=True,
        env=os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap_servers}, timeout=60,
    )  # fmt: skip
    assert (run.returncode, "Traceback" in run.stderr, run.stdout) == (0, False, "")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    started_s = time.monotonic()
    run = barnabas("topics", "list", "--bootstrap", address)
    assert time.monotonic() - started_s < 20
    assert run.returncode == 1
    assert run.stderr == (
        f"barnabas: no broker at {address}: connection refused; `barnabas start` runs one\n"
    )


def test_somebody_listens_and_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        run = barnabas("cluster", "--bootstrap", address)
    assert run.returncode == 1
    assert f"the broker at {address} does not answer" in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_reader_that_has_seen_enough(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("long")
    lines = tmp_path / "lines"
    lines.write_text("".join(f"line {n} of many\n" for n in range(20_000)))
    assert barnabas("produce", "long", "--lines", str(lines), broker=broker).returncode == 0
    script = f"{sys.executable} -m barnabas consume long | head -n 2; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(
        ["bash", "-c", script],
        env=os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap_servers},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert run.stdout == "line 0 of many\nline 1 of many\n0\n"
    assert run.stderr == ""


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C ends children: a shell without job control has what it starts with & ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_following_until_ctrl_c(broker: Broker) -> None:
    broker.create_topic("followed")
    command = [*BARNABAS, "consume", "followed", "--follow", "--bootstrap"]
    with subprocess.Popen(
        [*command, broker.bootstrap_servers], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            for word in ("first", "second"):
                sent = subprocess.run(
                    [*BARNABAS, "produce", "followed", "--bootstrap", broker.bootstrap_servers],
                    input=f"{word}\n".encode(), capture_output=True, timeout=60,
                )  # fmt: skip
                assert sent.returncode == 0
                assert line_of(process.stdout) == f"{word}\n".encode()
            process.send_signal(signal.SIGINT)
            printed, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, printed, said) == (130, b"", b"")


def test_colours_are_for_terminals_and_can_be_turned_off(broker: Broker) -> None:
    broker.create_topic("bright")
    arguments = ("topics", "list", "--bootstrap", broker.bootstrap_servers)
    assert "\x1b[1;36mtopic" in on_a_terminal(120, [*BARNABAS, *arguments])
    plain = on_a_terminal(120, [*BARNABAS, *arguments], NO_COLOR="1")
    assert "\x1b[1;36m" not in plain
    assert "36m" not in plain
    assert "bright" in plain


def test_completion_knows_commands_topics_and_transactional_ids(broker: Broker) -> None:
    broker.create_topic("orders-by-day")

    def complete(*words: str) -> str:
        return barnabas(
            broker=broker, _BARNABAS_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1),
        ).stdout  # fmt: skip

    assert complete("barnabas", "topi") == "plain,topics\n"
    assert complete("barnabas", "topics", "describe", "orders-") == "plain,orders-by-day\n"
    assert "__" not in complete("barnabas", "topics", "describe", "")
    with RawClient(broker.port) as client:
        find_coordinator(client, "billing-1")
        Transactional(client, "billing-1").begin()
    assert complete("barnabas", "transactions", "describe", "bil") == "plain,billing-1\n"
    assert "_barnabas_completion" in barnabas("completion", "bash").stdout


def test_completion_knows_settings_and_their_values(tmp_path: Path) -> None:
    command, script = tmp_path / "barnabas", tmp_path / "complete.bash"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m barnabas "$@"\n')
    command.chmod(0o755)
    script.write_text(
        f'PATH="{tmp_path}:$PATH"\n'
        'eval "$(barnabas completion bash)"\n'
        "compopt() { :; }\n"
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))\n'
        '_barnabas_completion barnabas; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )

    def complete(*words: str) -> list[str]:
        run = subprocess.run(
            ["bash", str(script), "barnabas", *words], capture_output=True, text=True, timeout=60
        )
        assert run.returncode == 0, run.stderr
        return run.stdout.split()

    assert complete("configs", "set", "topic", "t", "cleanup") == ["cleanup.policy="]
    values = ["compact", "delete", "compact,delete"]
    assert complete("configs", "set", "topic", "t", "cleanup.policy", "=") == values
    assert complete("configs", "set", "topic", "t", "cleanup.policy", "=", "de") == ["delete"]
    assert complete("topics", "create", "t", "--set", "preallocate", "=", "t") == ["true"]
    assert "unclean.leader.election.enable" in complete("configs", "get", "broker", "0", "unclean")
    assert "retention.ms" in complete("topics", "alter", "t", "--unset", "retention.m")


def test_start_names_its_address_first_and_says_what_to_try(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*BARNABAS, "start", "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data")],
        stdout=theirs, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs)
    with os.fdopen(ours, encoding="utf-8") as terminal:
        first = terminal.readline()
        assert first.startswith("listening on 127.0.0.1:")
        address = first.split()[2]
        hint = "".join(terminal.readline() for _ in range(5))
        assert f"barnabas consume greetings --bootstrap {address}" in hint
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
