"""Cutting and healing the links of a test's cluster."""

from typing import TYPE_CHECKING, Literal

from barnabas.server.testing.link_commands import REGISTRY
from barnabas.server.testing.member import Member

if TYPE_CHECKING:
    from barnabas.server.testing.cluster import Cluster

End = int | Member | Literal["registry"]
"""Of a link: a broker, by its id or itself, or the registry."""


class Links:
    """Which links of a cluster are cut; each broker is told of its own end."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster

    def cut(self, one: End, other: End, *, one_way: bool, resets: bool) -> None:
        """Cut a link. Raises ValueError, LookupError."""
        more: dict[str, object] = {"resets": True} if resets else {}
        if REGISTRY in (one, other) and (one_way or resets):
            raise ValueError("the link to the registry is cut as a whole, and does not reset")
        self._tell("cut", one, other, one_way, more)

    def heal(self, one: End, other: End, *, one_way: bool) -> None:
        """Heal a link. Raises ValueError, LookupError."""
        self._tell("heal", one, other, one_way, {})

    def heal_all(self) -> None:
        """Heal every link."""
        for broker in self._cluster:
            if broker.is_open:
                broker.ask("POST", "/control/links/heal")

    def reached(self, controller: Member) -> list[Member]:
        """The controller, and the running brokers that hear what it says."""
        found = []
        for broker in self._cluster.running:
            apart = {controller.broker_id, REGISTRY} if broker is not controller else set()
            if not apart & {each["peer"] for each in broker.ask("GET", "/control/links")["links"]}:
                found.append(broker)
        return found

    def _tell(
        self, what: str, one: End, other: End, one_way: bool, more: dict[str, object]
    ) -> None:
        ends = self._name(one), self._name(other)
        if ends[0] == ends[1]:
            raise ValueError("a link has two ends, which are not the same")
        for end, peer, direction in ((*ends, "to"), (*ends[::-1], "from")):
            if end != REGISTRY:
                self._cluster[int(end)].ask(
                    "POST", f"/control/links/{what}", peer=peer,
                    direction=direction if one_way else "both", **more,
                )  # fmt: skip

    def _name(self, end: End) -> int | str:
        if isinstance(end, str):
            if end != REGISTRY:
                raise ValueError(f"{end!r} is no end of a link: say a broker, or {REGISTRY!r}")
            return end
        return self._cluster[id_of(end)].broker_id


def id_of(broker: int | Member) -> int:
    """A broker's id, of itself or of what is one."""
    return broker.broker_id if isinstance(broker, Member) else broker
