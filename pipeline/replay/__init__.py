"""The lake back into topics, every record once, whatever is killed."""
