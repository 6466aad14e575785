"""The end of a child process when its parent has gone, however that went."""

import subprocess
from typing import Final

_SCRIPT: Final = "read -r _ || kill -{signal} {process}"


class Mourner:
    """A shell that hears of this process's end, by a pipe that closes, and ends a child then.

    Without it a child would outlive whoever started it and was killed.
    """

    def __init__(self, process_id: int, signal_number: int) -> None:
        script = _SCRIPT.format(signal=int(signal_number), process=process_id)
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """Before the child ends: its number may be another's afterwards."""
        self._shell.kill()
        self._shell.wait()
        assert self._shell.stdin is not None
        self._shell.stdin.close()
