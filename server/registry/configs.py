"""Configs of topics, brokers, users, clients and ips under /config.

An entity is named by its path below /config: `topics/t1`, `brokers/1`, `brokers/<default>`,
`users/alice`, `users/<default>/clients/app`, `ips/127.0.0.9`. Names of users, clients and ips
are percent-encoded (`sanitize`), topics and brokers need no encoding.

A write names the version it builds on, so that of two brokers that change one entity at once
none undoes what the other did: the second looks again (`update`). It carries a check of
/controller, so that it cannot slip in while the cluster is handed over to KRaft, as Kafka 3.4 and
later do; with no controller it goes without. After a change of an existing entity a notification
is due (`notify`); creating a topic needs none.

What is stored may be anybody's, written with a tool of ZooKeeper's: a config that cannot be read
counts as empty, a notification that cannot be read is passed over, and either is said.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.changes import Changes, Notification
from barnabas.server.registry.errors import VersionConflict
from barnabas.server.registry.znodes.store import (
    ANY_VERSION,
    BadVersion,
    Check,
    Create,
    NodeExists,
    NoNode,
    Op,
    SetData,
    Watch,
    Znode,
    ZnodeStore,
)

_log = logging.getLogger(__name__)

TOPICS = "topics"
BROKERS = "brokers"
DEFAULT = "<default>"

NO_ZNODE: Final = -2
"""The version of what does not exist."""
MOST_TRIES: Final = 20
"""For a change that meets another one every time; each time somebody's has been done."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_")


def sanitize(name: str) -> str:
    """Percent-encode a user, client or ip name (Kafka's Sanitizer)."""
    if _PLAIN.issuperset(name):
        return name
    return "".join(c if c in _PLAIN else _percent(c) for c in name)


def desanitize(name: str) -> str:
    """Undo `sanitize`; raises ValueError."""
    plain, *escaped = name.split("%")
    encoded = [plain.encode()]
    for part in escaped:
        if len(part) < 2:
            raise ValueError(f"{name!r} ends in the middle of an escape")
        encoded += [bytes.fromhex(part[:2]), part[2:].encode()]
    return b"".join(encoded).decode()


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


class StoredConfig(NamedTuple):
    """A config as read, with the version of its znode."""

    config: dict[str, str]
    znode_version: int


class Configs:
    """The configs of all entities."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store
        self._changes = Changes(store, paths.CONFIG_CHANGES, paths.CONFIG_CHANGE_PREFIX)

    async def read(self, entity_path: str) -> dict[str, str]:
        """Return the config of an entity; empty when it has none."""
        return (await self.read_versioned(entity_path)).config

    async def read_versioned(self, entity_path: str) -> StoredConfig:
        """Return the config of an entity with its version, which is NO_ZNODE when it has none."""
        znode = (await self._store.get_many([paths.entity_config(entity_path)]))[0]
        if znode is None:
            return StoredConfig({}, NO_ZNODE)
        return StoredConfig(_decoded(entity_path, znode), znode.stat.version)

    async def read_all(self, entity_type: str) -> dict[str, dict[str, str]]:
        """Return the configs of a type by the entity's name as it stands in the path."""
        try:
            names = await self._store.children(paths.entity_configs(entity_type))
        except NoNode:
            return {}
        wanted = [paths.entity_config(f"{entity_type}/{name}") for name in names]
        znodes = await self._store.get_many(wanted)
        return {
            name: _decoded(f"{entity_type}/{name}", znode)
            for name, znode in zip(names, znodes, strict=True)
            if znode is not None
        }

    async def update(
        self, entity_path: str, change: Callable[[dict[str, str]], dict[str, str]], *also: Op
    ) -> None:
        """Replace the config of an entity by what `change` makes of it, or make it.

        `change` is asked again if somebody else has written meanwhile; what it raises is raised.
        `also` happens together with the write or not at all. Raises VersionConflict after
        MOST_TRIES, and what `also` is refused with.
        """
        for tries_left in reversed(range(MOST_TRIES)):
            stored = await self.read_versioned(entity_path)
            changed = change(stored.config)
            try:
                return await self.write(entity_path, changed, stored.znode_version, *also)
            except VersionConflict:
                if not tries_left:
                    raise

    async def write(
        self,
        entity_path: str,
        config: dict[str, str],
        znode_version: int = ANY_VERSION,
        *also: Op,
    ) -> None:
        """Replace the config of an entity that has this version; with NO_ZNODE make it.

        With ANY_VERSION, as Kafka does, whatever is there is replaced. Raises VersionConflict,
        and what `also` is refused with.
        """
        path = paths.entity_config(entity_path)
        body = bodies.encode_config(config)
        expected = znode_version
        while True:
            try:
                return await self._write(path, body, expected, also)
            except (NoNode, NodeExists, BadVersion) as error:
                if error.path == paths.CONTROLLER or path.startswith(f"{error.path}/"):
                    continue  # the controller changed, or a parent was made, in between
                if error.path != path:
                    raise
                if znode_version != ANY_VERSION:
                    raise VersionConflict(f"the config of {entity_path} has changed") from error
                expected = NO_ZNODE if isinstance(error, NoNode) else ANY_VERSION

    async def _write(self, path: str, body: bytes, znode_version: int, also: Sequence[Op]) -> None:
        if znode_version != NO_ZNODE:
            write: Op = SetData(path, body, znode_version)
        elif also:
            write = Create(path, body)
        else:
            await self._store.create(path, body, make_parents=True)
            return
        await self._store.multi([*await self._controller_check(), write, *also])

    async def create(self, entity_path: str, config: dict[str, str]) -> bool:
        """Write the config of an entity that is expected to be new; False if it has one."""
        try:
            path = paths.entity_config(entity_path)
            await self._store.create(path, bodies.encode_config(config), make_parents=True)
        except NodeExists:
            return False
        return True

    async def delete(self, entity_path: str) -> None:
        """Remove the config of an entity; nothing happens if it has none."""
        try:
            await self._store.delete(paths.entity_config(entity_path))
        except NoNode:
            return

    async def notify(self, entity_path: str) -> None:
        """Tell all brokers that the config of an entity has changed."""
        await self._changes.add(bodies.encode_config_change(entity_path))

    async def changed(self, watch: Watch | None = None) -> list[str]:
        """Return which entities have changed since the last call, and watch for more.

        An entity that changed twice is named once, at its last change.
        """
        entities = map(_entity_path, reversed(await self._changes.read_new(watch)))
        return list(dict.fromkeys(each for each in entities if each is not None))[::-1]

    async def purge_changes(self, now_ms: int) -> None:
        """Delete notifications older than fifteen minutes."""
        await self._changes.purge(now_ms)

    async def _controller_check(self) -> list[Op]:
        stat = await self._store.exists(paths.CONTROLLER)
        return [] if stat is None else [Check(paths.CONTROLLER, stat.version)]


def _decoded(entity_path: str, znode: Znode) -> dict[str, str]:
    try:
        return bodies.decode_config(znode.data)
    except ValueError as error:
        _log.error("the config of %s cannot be read and counts as empty: %s", entity_path, error)
        return {}


def _entity_path(notification: Notification) -> str | None:
    try:
        return bodies.decode_config_change(notification.body)
    except ValueError as error:
        _log.error("config change %d cannot be read: %s", notification.number, error)
        return None
