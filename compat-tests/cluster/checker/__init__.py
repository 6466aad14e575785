"""Pure functions over what clients and the registry's watcher wrote down: what must not be?

Nothing here knows a broker, a client or a clock; a history comes from files or from a test.
"""
