"""kafka-python, imported when a command needs it.

It takes 0.2 s to import and has no types: nothing of it goes further than plain dictionaries.
"""

import logging
import warnings
from importlib import import_module
from typing import Any


def kafka(module: str = "") -> Any:
    """kafka-python, or a module of it."""
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    with warnings.catch_warnings():  # it reads its schemas in a way that Python has deprecated
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(f"kafka.{module}" if module else "kafka")
