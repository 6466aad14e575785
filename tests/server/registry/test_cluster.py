"""The cluster's own znodes."""

import base64

from barnabas.server.registry import paths
from barnabas.server.registry.cluster import random_uuid
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from tests.server.registry.worlds import FIRST_MS


def registries(count: int) -> list[Registry]:
    """Return registries with sessions of their own on one tree."""
    ensemble = Ensemble(lambda: FIRST_MS)
    return [Registry(ensemble.connect()) for _ in range(count)]


async def test_path_nodes_have_null_data_and_are_made_once() -> None:
    one, two = registries(2)
    await one.cluster.ensure_paths()
    await two.cluster.ensure_paths()
    znodes = await one.store.get_many(paths.PERSISTENT_PATHS)
    assert [znode and (znode.data, znode.stat.version) for znode in znodes] == [(None, 0)] * 14


async def test_the_first_broker_names_the_cluster() -> None:
    one, two = registries(2)
    assert await one.cluster.read_id() is None
    named = await one.cluster.ensure_id()
    assert len(named) == 22
    assert len(base64.urlsafe_b64decode(named + "==")) == 16
    assert await two.cluster.ensure_id("another") == named
    assert await two.cluster.read_id() == named


async def test_a_wanted_cluster_id_is_taken() -> None:
    (one,) = registries(1)
    assert await one.cluster.ensure_id("DhcU78Z2QLyyTXkpd9LuIQ") == "DhcU78Z2QLyyTXkpd9LuIQ"
    expected = b'{"version":"1","id":"DhcU78Z2QLyyTXkpd9LuIQ"}'
    assert (await one.store.get(paths.CLUSTER_ID)).data == expected


async def test_the_feature_node_is_made_once() -> None:
    one, two = registries(2)
    await one.cluster.ensure_feature()
    await two.cluster.ensure_feature()
    data, stat = await one.store.get(paths.FEATURE)
    assert (data, stat.version) == (b'{"features":{},"version":2,"status":1}', 0)


def test_random_ids_are_version_4_and_no_options() -> None:
    made = [random_uuid() for _ in range(2000)]
    assert len(set(made)) == 2000
    assert all(value[6] >> 4 == 4 and value[8] >> 6 == 2 for value in made)
    assert not any(str(value).startswith("-") for value in made)
