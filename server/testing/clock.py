"""The clock of a test's broker: time passes when the test says so, besides running as usual."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker


class TestClock:
    """`broker.clock`."""

    __test__ = False  # no test class, whatever pytest thinks of its name

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def __repr__(self) -> str:
        return f"<the clock of {self._broker!r}>"

    def now_ms(self) -> int:
        """What the broker believes the time to be, in ms since 1970."""
        return int(self._broker.command("clock.now_ms", "GET", "/control/clock")["now_ms"])

    def advance(self, duration: float | str) -> None:
        """Let `duration` (ms, or words such as "7 days") pass at once. Raises ValueError.

        What falls due on the way happens in its order: session and rebalance timeouts,
        retention, compaction, offset expiry, parked requests.
        """
        path = "/control/clock/advance"
        self._broker.command("clock.advance", "POST", path, duration=duration)

    def jump(self, duration: float | str) -> None:
        """Set the date alone, as a time server does: by ms or words, back by "-1 day".

        Nothing falls due by it, and no timeout comes later. Raises ValueError.
        """
        self._broker.command("clock.jump", "POST", "/control/clock/jump", duration=duration)
