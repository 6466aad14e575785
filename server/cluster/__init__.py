"""What the broker knows of the cluster, and the controller's decisions about it."""
