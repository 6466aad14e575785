"""Modules that are loaded when they are first needed, one after the other in steps.

A start loads what the first requests need and no more. What stands on many modules would hold the
loop for 20 ms when somebody first asks for it: so they are loaded one a step, those first that
others stand on.
"""

import sys
from collections.abc import Iterable
from importlib import import_module

from barnabas.storage.batch.steps import Steps


def load_in_steps(names: Iterable[str]) -> Steps[None]:
    """Load what is not loaded yet."""
    for name in names:
        if name not in sys.modules:
            import_module(name)
            yield
