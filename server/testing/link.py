"""How a test reaches its broker: in a thread (`thread_link`) or in a child (`process_link`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from barnabas.server.testing.seen import Seen

START_TIMEOUT_S = 60.0


class Link(Protocol):
    """A broker's host, wherever it is."""

    @property
    def is_open(self) -> bool:
        """Whether commands can be given."""

    @property
    def port(self) -> int:
        """The port of the broker's first listener."""

    @property
    def bootstrap_servers(self) -> str:
        """Where clients of this machine reach the broker's first listener."""

    @property
    def control_port(self) -> int:
        """The port of the control over HTTP; -1 without one."""

    def open(self, settings: Mapping[str, str]) -> None:
        """Start the broker. Raises what kept it from starting."""

    def close(self) -> None:
        """Stop the broker in good order, and all that ran it; nothing in a fork of the process."""

    def ask(self, method: str, path: str, given: Mapping[str, object]) -> Any:
        """Carry out a command of the control (`commands`). Raises Refusal."""

    def requests(self, given: Mapping[str, object]) -> "list[Seen]":
        """What `GET /control/requests` finds, decoded."""
