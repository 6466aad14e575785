"""Coroutine tests run in a loop of their own, with a deadline."""

import asyncio
import inspect

import pytest

DEADLINE_SECONDS = 30


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    return run_coroutine(pyfuncitem, DEADLINE_SECONDS)


def run_coroutine(pyfuncitem: pytest.Function, deadline_s: float) -> bool | None:
    """Run a test that is a coroutine; None for any other."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**arguments), deadline_s))
    return True
