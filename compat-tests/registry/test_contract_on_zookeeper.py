"""The contract of a store of znodes (tests/server/registry), kept by a real Apache ZooKeeper."""

from __future__ import annotations

import pytest
from zookeeper_worlds import ZookeeperWorld

from barnabas.server.testing.zookeeper import ZookeeperServer
from tests.server.registry.test_contract import *  # noqa: F403


@pytest.fixture
def world(zookeeper: ZookeeperServer) -> ZookeeperWorld:
    return ZookeeperWorld(zookeeper)
