"""What the broker knows of the cluster, and its own place in it."""
