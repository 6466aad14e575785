"""What belongs to the cluster as a whole: its path nodes, its id, its features."""

import contextlib
import os
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.bodies import NO_LEVELS, ProtocolVersion
from barnabas.server.registry.controller import ControllerEpoch, raise_if_moved
from barnabas.server.registry.errors import VersionConflict
from barnabas.server.registry.znodes.store import (
    BadVersion,
    Create,
    NodeExists,
    NoNode,
    SetData,
    Stat,
    Watch,
    ZnodeError,
    ZnodeStore,
)
from barnabas.wire.uuids import Uuid

_DASH = 62
"""Six bits that base64url prints as a dash."""


class FinalizedFeatures(NamedTuple):
    """The levels that the whole cluster works at, by feature; `epoch` is the znode's version."""

    levels: Mapping[str, int]
    epoch: int


NO_FEATURES: Final = FinalizedFeatures(NO_LEVELS, -1)


def random_uuid() -> Uuid:
    """Return a new random (version 4) id that does not print with a leading dash.

    A dash would look like an option on a command line (Kafka's Uuid.randomUuid).
    """
    while True:
        value = bytearray(os.urandom(16))
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        if value[0] >> 2 != _DASH:
            return Uuid(value)


def _with_parents(znode_paths: Iterable[str]) -> list[str]:
    """The paths, each after its parents and named once."""
    found: dict[str, None] = {}
    for path in znode_paths:
        parts = path.split("/")
        found.update(dict.fromkeys("/".join(parts[:end]) for end in range(2, len(parts) + 1)))
    return list(found)


class Cluster:
    """The znodes every broker makes sure of when it starts."""

    def __init__(self, store: ZnodeStore, protocol: ProtocolVersion) -> None:
        self._store = store
        self._protocol = protocol

    async def ensure_paths(self) -> None:
        """Make the path nodes that are missing."""
        outcomes = await self._store.pipeline(
            [[Create(path)] for path in _with_parents(paths.PERSISTENT_PATHS)]
        )
        for outcome in outcomes:
            if isinstance(outcome, ZnodeError) and not isinstance(outcome, NodeExists):
                raise outcome

    async def read_id(self) -> str | None:
        """Return the cluster's id, or None before the first broker made it."""
        znode = (await self._store.get_many([paths.CLUSTER_ID]))[0]
        return None if znode is None or not znode.data else bodies.decode_cluster_id(znode.data)

    async def ensure_id(self, wanted: str | None = None) -> str:
        """Return the cluster's id, made by this call (`wanted` or a random one) if there is none.

        Two brokers that start at once agree: the second reads what the first wrote.
        """
        existing = await self.read_id()
        if existing is not None:
            return existing
        made = wanted or str(random_uuid())
        try:
            body = bodies.encode_cluster_id(made)
            await self._store.create(paths.CLUSTER_ID, body, make_parents=True)
        except NodeExists:
            return await self.ensure_id()
        return made

    async def ensure_feature(self, levels: Mapping[str, int] = NO_LEVELS) -> None:
        """Make /feature with these finalized levels, unless it is there: the controller's task."""
        try:
            await self._store.get(paths.FEATURE)
        except NoNode:
            body = bodies.encode_feature(self._protocol, levels)
            with contextlib.suppress(NodeExists):
                await self._store.create(paths.FEATURE, body)

    async def read_features(self, watch: Watch | None = None) -> FinalizedFeatures:
        """Return what is finalized, and watch it change, or be made."""
        if await self._store.exists(paths.FEATURE, watch) is None:
            return NO_FEATURES
        znode = (await self._store.get_many([paths.FEATURE]))[0]
        if znode is None or not znode.data:
            return NO_FEATURES
        return FinalizedFeatures(bodies.decode_feature(znode.data), znode.stat.version)

    async def write_features(
        self, office: ControllerEpoch, levels: Mapping[str, int], epoch: int
    ) -> FinalizedFeatures:
        """Replace what is finalized as of `epoch`. Raises ControllerMoved, VersionConflict."""
        body = bodies.encode_feature(self._protocol, levels)
        try:
            results = await self._store.multi(office.fence(SetData(paths.FEATURE, body, epoch)))
        except ZnodeError as error:
            raise_if_moved(error)
            if isinstance(error, BadVersion):
                raise VersionConflict(str(error)) from error
            raise
        stat = results[-1]
        assert isinstance(stat, Stat)
        return FinalizedFeatures(dict(levels), stat.version)
