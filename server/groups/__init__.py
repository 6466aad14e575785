"""Consumer groups and committed offsets: the coordinator's side of Kafka's group protocols."""
