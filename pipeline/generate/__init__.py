"""A seeded stream of website activity: the same events for the same seed."""
