"""What brokers say while tests run is searched for tracebacks and errors, in every test.

A broker in this process writes through `Logs`, its libraries through `logging`; one in a child
(and what the child starts) copies its standard error to a folder, by `child_output`. When a test
and the fixtures that end with it are done, a complaint that it did not announce fails it:

    @pytest.mark.broker_says("the registry could not be written")

announces complaints by regular expressions: each must come (with `always=False`: may come), and
nothing that none of them finds. Under pytest-xdist every worker searches what its own brokers said.
"""

import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.observing.logs import Logs

FOLDER = "BARNABAS_TEST_OUTPUT"
HOOK = str(Path(__file__).parent / "child_output")
LOGGERS = ("barnabas", "asyncio")
_STAMPED = re.compile(r"^(?=\d{4}-\d\d-\d\dT\S+Z [A-Z]+ )", re.MULTILINE)
_IS_ERROR = re.compile(r"\S+Z ERROR |.*^Traceback \(most recent call last\)", re.M | re.S)
_KEY = pytest.StashKey["Output"]()


def complaints_in(text: str) -> list[str]:
    """The lines of level ERROR with their tracebacks, and tracebacks that stand alone."""
    return [block.rstrip() for block in _STAMPED.split(text) if _IS_ERROR.match(block)]


class Output:
    """What brokers have said since the last look."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="barnabas-output-"))
        self.said = ""
        self.late: list[str] = []
        self._seen: dict[Path, int] = {}

    def take_complaints(self) -> list[str]:
        """The complaints since the last look, each once."""
        here, self.said = complaints_in(self.said), ""
        for path in sorted(self.folder.iterdir()):
            here += (f"process {path.name}: {each}" for each in complaints_in(self._new(path)))
        return here

    def _new(self, path: Path) -> str:
        data = path.read_bytes()
        new = data[self._seen.get(path, 0) :]
        self._seen[path] = len(data)
        return new.decode(errors="replace")


class _Listener(logging.Handler):
    """Hears what libraries and storage log as errors."""

    def __init__(self, output: Output) -> None:
        super().__init__(logging.ERROR)
        self._output = output
        self.setFormatter(logging.Formatter("0000-00-00T00:00:00Z ERROR %(name)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._output.said += self.format(record) + "\n"


def pytest_configure(config: pytest.Config) -> None:
    """Begin to listen, to this process and to its children."""
    config.addinivalue_line(
        "markers", "broker_says(*patterns, always=True): what brokers complain of in a test"
    )
    output = config.stash[_KEY] = Output()
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setenv(FOLDER, str(output.folder))
    if HOOK not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        patch.setenv("PYTHONPATH", HOOK, prepend=os.pathsep)
    patch.setattr(sys, "path", [*sys.path, HOOK])  # storage's children get this path
    _overhear(patch, output)
    listener = _Listener(output)
    for name in LOGGERS:
        logging.getLogger(name).addHandler(listener)
        config.add_cleanup(partial(logging.getLogger(name).removeHandler, listener))


def _overhear(patch: pytest.MonkeyPatch, output: Output) -> None:
    write = Logs.write

    def listen(self: Logs, text: str) -> None:
        if self._stream is None:
            output.said += text
        write(self, text)

    patch.setattr(Logs, "write", listen)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what the children said."""
    shutil.rmtree(config.stash[_KEY].folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """After the last fixture that ends here: fail for what was not announced."""
    result = yield
    complaints = item.config.stash[_KEY].take_complaints()
    marks = list(item.iter_markers("broker_says"))
    patterns = [each for mark in marks for each in mark.args]
    unannounced = [c for c in complaints if not any(re.search(each, c) for each in patterns)]
    if unannounced:
        pytest.fail("a broker complained:\n" + "\n".join(unannounced), pytrace=False)
    sure = [each for mark in marks if mark.kwargs.get("always", True) for each in mark.args]
    missing = [each for each in sure if not any(re.search(each, c) for c in complaints)]
    if missing:
        pytest.fail(f"no broker said {', '.join(missing)}", pytrace=False)
    return result


# What is said after the last test: by a child that was left, or by one that ends late.


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for what nobody was there to hear; a worker hands it to its controller."""
    output = session.config.stash[_KEY]
    output.late += output.take_complaints()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["late_complaints"] = output.late
    elif output.late:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A worker of pytest-xdist has ended; take over what it heard last."""
    output = node.config.stash[_KEY]
    output.late += getattr(node, "workeroutput", {}).get("late_complaints", ())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what was heard after the last test."""
    for complaint in config.stash[_KEY].late:
        terminalreporter.write_line(f"a broker complained after the last test:\n{complaint}")
