"""Znodes: the interface of a store of them, and the embedded store.

Knows ZooKeeper's rules for a tree, sessions and watches; nothing of brokers or topics.
"""
