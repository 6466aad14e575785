"""Configs of topics, brokers, users, clients and ips under /config.

An entity is named by its path below /config: `topics/t1`, `brokers/1`, `brokers/<default>`,
`users/alice`, `users/<default>/clients/app`, `ips/127.0.0.9`. Names of users, clients and ips
are percent-encoded (`sanitize`), topics and brokers need no encoding.

A write carries a check of /controller, so that it cannot slip in while the cluster is handed
over to KRaft, as Kafka 3.4 and later do; with no controller it goes without. After a change of
an existing entity a notification is due (`notify`); creating a topic needs none.
"""

import contextlib

from barnabas.server.registry import bodies, paths
from barnabas.server.registry.changes import Changes, Notification
from barnabas.server.registry.znodes.store import (
    BadVersion,
    Check,
    NodeExists,
    NoNode,
    Op,
    SetData,
    Watch,
    ZnodeStore,
)

TOPICS = "topics"
BROKERS = "brokers"
DEFAULT = "<default>"

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


class Configs:
    """The configs of all entities."""

    def __init__(self, store: ZnodeStore) -> None:
        self._store = store
        self._changes = Changes(store, paths.CONFIG_CHANGES, paths.CONFIG_CHANGE_PREFIX)

    async def read(self, entity_path: str) -> dict[str, str]:
        """Return the config of an entity; empty when it has none."""
        znode = (await self._store.get_many([paths.entity_config(entity_path)]))[0]
        return {} if znode is None else bodies.decode_config(znode.data)

    async def read_all(self, entity_type: str) -> dict[str, dict[str, str]]:
        """Return the configs of a type by the entity's name as it stands in the path."""
        try:
            names = await self._store.children(paths.entity_configs(entity_type))
        except NoNode:
            return {}
        wanted = [paths.entity_config(f"{entity_type}/{name}") for name in names]
        znodes = await self._store.get_many(wanted)
        return {
            name: bodies.decode_config(znode.data)
            for name, znode in zip(names, znodes, strict=True)
            if znode is not None
        }

    async def write(self, entity_path: str, config: dict[str, str]) -> None:
        """Replace the config of an entity, or make it."""
        path = paths.entity_config(entity_path)
        body = bodies.encode_config(config)
        # Round again when the controller changes, or the entity comes or goes, in between.
        while True:
            check = await self._controller_check()
            try:
                await self._store.multi([*check, SetData(path, body)])
                return
            except (NoNode, BadVersion) as error:
                if error.path != path:
                    continue
            with contextlib.suppress(NodeExists):
                await self._store.create(path, body, make_parents=True)
                return

    async def create(self, entity_path: str, config: dict[str, str]) -> None:
        """Write the config of an entity that is expected to be new."""
        try:
            path = paths.entity_config(entity_path)
            await self._store.create(path, bodies.encode_config(config))
        except (NodeExists, NoNode):
            await self.write(entity_path, config)

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
        notifications = await self._changes.read_new(watch)
        return list(dict.fromkeys(_entity_path(n) for n in reversed(notifications)))[::-1]

    async def purge_changes(self, now_ms: int) -> None:
        """Delete notifications older than fifteen minutes."""
        await self._changes.purge(now_ms)

    async def _controller_check(self) -> list[Op]:
        stat = await self._store.exists(paths.CONTROLLER)
        return [] if stat is None else [Check(paths.CONTROLLER, stat.version)]


def _entity_path(notification: Notification) -> str:
    return bodies.decode_config_change(notification.body)
