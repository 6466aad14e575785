"""Ctrl-C beside Spark: it always ends what the main thread waits for.

PySpark's own handler asks the JVM to cancel all jobs and waits for the answer before it raises.
It asks on the connection of the thread that it interrupts: where that one has sent its question
and does not yet read the answer, the JVM hears of the interrupt when the job is done.
"""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN_AFTER_S = 0.01


@contextmanager
def told(handler: Any) -> Iterator[None]:
    """Within the block Ctrl-C is told to who was told of it before there was a SparkContext.

    That is for a session that ends with the block, and its jobs with it: nothing cancels them.
    """
    if threading.current_thread() is threading.main_thread() and callable(handler):
        signal.signal(signal.SIGINT, handler)
    yield


@contextmanager
def never_lost() -> Iterator[None]:
    """Ctrl-C while an object is destroyed, of which Python only prints that it is ignored."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(_interrupt_again, ())
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt_again() -> None:
    time.sleep(AGAIN_AFTER_S)  # behind the hook, which would swallow it too
    _thread.interrupt_main()
