"""The cluster's registries in Kafka's own znode layout, over a small `ZnodeStore` interface."""
