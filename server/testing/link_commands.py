"""Commands about the broker's lines to other brokers and to the registry."""

from typing import Final

from barnabas.server.testing.cuts import DIRECTIONS, Direction
from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host

REGISTRY: Final = "registry"
CUT = ("peer", "direction", "resets")
HEAL = ("peer", "direction")


async def list_all(host: Host, fields: Fields, number: int) -> object:
    """What is cut."""
    lines = [
        {"peer": broker_id, "direction": line.direction, "resets": line.resets}
        for broker_id, line in sorted(host.cuts.lines.items())
        if line.direction is not None
    ]
    registry = {"peer": REGISTRY, "direction": "both", "resets": False}
    return {"links": lines + ([registry] if host.registry_is_cut else [])}


async def cut(host: Host, fields: Fields, number: int) -> object:
    """Cut the line to another broker or to the registry."""
    direction, resets = _direction(fields), fields.raw("resets") or False
    if not isinstance(resets, bool):
        raise fields.wrong("resets", "true or false")
    if resets and direction != "both":
        raise fields.bad("a connection is reset at both ends: `resets` goes with both directions")
    peer = _peer(fields)
    if peer is None:
        if direction != "both" or resets:
            raise fields.bad("the line to the registry is cut as a whole, and does not reset")
        host.cut_registry()
    else:
        host.cuts.lines[peer].cut(direction, resets=resets)
    return await list_all(host, fields, number)


async def heal(host: Host, fields: Fields, number: int) -> object:
    """Heal one line, or without a peer all of them."""
    direction = _direction(fields)
    peer = _peer(fields) if "peer" in fields else None
    for broker_id, line in host.cuts.lines.items():
        if peer in (None, broker_id) and fields.raw("peer") != REGISTRY:
            line.heal(direction)
    if peer is None:
        host.heal_registry()
    return await list_all(host, fields, number)


def _direction(fields: Fields) -> Direction:
    name = fields.one_of("direction", DIRECTIONS, "both")
    return next(each for each in DIRECTIONS if each == name)


def _peer(fields: Fields) -> int | None:
    """The other broker; None for the registry."""
    if fields.raw("peer") == REGISTRY:
        return None
    peer = fields.raw("peer")
    if isinstance(peer, bool) or not isinstance(peer, int) or peer < 0:
        raise fields.wrong("peer", f"the id of a broker, or {REGISTRY}")
    return peer
