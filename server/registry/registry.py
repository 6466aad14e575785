"""The registry: Kafka's nouns over a store of znodes, one object each.

registry = Registry(store)
await registry.cluster.ensure_paths()
cluster_id = await registry.cluster.ensure_id()
broker_epoch = await registry.brokers.register(registration)
controller_epoch = await registry.controller.elect(broker_id, now_ms)
"""

from barnabas.server.registry import paths
from barnabas.server.registry.admin import AdminRequests
from barnabas.server.registry.bodies import ProtocolVersion
from barnabas.server.registry.brokers import Brokers
from barnabas.server.registry.changes import Changes
from barnabas.server.registry.cluster import Cluster
from barnabas.server.registry.configs import Configs
from barnabas.server.registry.consumers import Consumers
from barnabas.server.registry.controller import Controllers
from barnabas.server.registry.partitions import Partitions
from barnabas.server.registry.producer_ids import ProducerIds
from barnabas.server.registry.topics import Topics
from barnabas.server.registry.znodes.store import ZnodeStore

LATEST_PROTOCOL: ProtocolVersion = (3, 9)


class Registry:
    """Everything a broker keeps in the cluster's registries."""

    def __init__(self, store: ZnodeStore, protocol: ProtocolVersion = LATEST_PROTOCOL) -> None:
        """`protocol` is the inter-broker protocol, which decides some bodies' versions."""
        self.store = store
        self.protocol = protocol
        self.cluster = Cluster(store, protocol)
        self.brokers = Brokers(store, protocol)
        self.controller = Controllers(store)
        self.configs = Configs(store)
        self.topics = Topics(store, self.configs, protocol)
        self.partitions = Partitions(store)
        self.admin = AdminRequests(store)
        self.producer_ids = ProducerIds(store)
        self.consumers = Consumers(store)
        self.isr_changes = Changes(store, paths.ISR_CHANGES, paths.ISR_CHANGE_PREFIX)
        self.log_dir_events = Changes(store, paths.LOG_DIR_EVENTS, paths.LOG_DIR_EVENT_PREFIX)
