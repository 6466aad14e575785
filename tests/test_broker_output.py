"""A complaint of a broker fails the test it was made in, wherever the broker runs."""

import os
from pathlib import Path

import pytest

from tests.broker_output import complaints_in

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parent.parent
TESTS = """
    import logging, subprocess, sys
    import pytest
    from barnabas.server.observing.logs import Logs

    def complain():
        Logs("error").room("disk").error("it is full", free=0)

    def in_a_child(program):
        program = "from barnabas.server.observing.logs import Logs;" + program
        subprocess.run([sys.executable, "-c", program], stderr=subprocess.DEVNULL)

    @pytest.fixture
    def noisy_end():
        yield
        complain()

    def test_fails_for_an_error():
        complain()

    def test_fails_for_an_error_of_a_fixture_that_ends(noisy_end):
        pass

    def test_fails_for_an_error_of_storage():
        logging.getLogger("barnabas.storage.log.log").error("broken")

    def test_fails_for_an_error_in_a_child():
        in_a_child("Logs('error').room('disk').error('it is full')")

    def test_fails_for_a_traceback_in_a_child():
        in_a_child("raise ValueError")

    @pytest.mark.broker_says("never said")
    def test_fails_for_what_was_announced_and_not_said():
        pass

    @pytest.mark.broker_says("it is full free=0")
    def test_passes_when_it_was_announced():
        complain()

    def test_passes_for_warnings_and_for_programs_that_are_no_brokers():
        Logs("warn").room("disk").warn("nearly full")
        subprocess.run([sys.executable, "-c", "raise ValueError"], stderr=subprocess.DEVNULL)
"""


@pytest.fixture
def plugged(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A pytest of its own that has the plugin."""
    places = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest('pytest_plugins = ["tests.broker_output"]')
    return pytester


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "workers"])
def test_complaints_fail_the_test_they_were_made_in(
    plugged: pytest.Pytester, options: tuple[str, ...]
) -> None:
    plugged.makepyfile(TESTS)
    outcome = plugged.runpytest_subprocess("-q", "-p", "no:cacheprovider", *options)
    outcome.assert_outcomes(passed=8, errors=6)
    said = [line for line in outcome.outlines if line.startswith("ERROR test_")]
    assert len(said) == 6 and all("::test_fails_" in line for line in said)


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one process", "workers"])
def test_what_is_said_after_the_last_test_fails_the_run(
    plugged: pytest.Pytester, options: tuple[str, ...]
) -> None:
    plugged.makepyfile("""
        import pytest
        from barnabas.server.observing.logs import Logs

        @pytest.fixture(scope="session", autouse=True)
        def late(request):
            finish = lambda: Logs("error").room("disk").error("too late")
            request.config.pluginmanager.register(Late(finish))

        class Late:
            def __init__(self, finish):
                self.pytest_sessionfinish = pytest.hookimpl(tryfirst=True)(lambda: finish())

        def test_nothing():
            pass
    """)
    outcome = plugged.runpytest_subprocess("-q", "-p", "no:cacheprovider", *options)
    outcome.assert_outcomes(passed=1)
    assert outcome.ret == pytest.ExitCode.TESTS_FAILED
    outcome.stdout.fnmatch_lines(["*after the last test:", "*ERROR disk too late"])


def test_a_traceback_belongs_to_the_line_before_it() -> None:
    said = (
        "2026-01-01T00:00:00.000Z INFO broker started\n"
        "2026-01-01T00:00:00.001Z ERROR disk failed\n"
        "Traceback (most recent call last):\n  ...\nOSError\n"
        "2026-01-01T00:00:00.002Z WARN disk slow says=ERROR\n"
    )
    (found,) = complaints_in(said)
    assert found.splitlines()[0].endswith("ERROR disk failed") and found.endswith("OSError")
    assert complaints_in("x\nTraceback (most recent call last):\nOSError\n") != []
