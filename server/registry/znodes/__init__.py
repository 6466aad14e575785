"""Znodes: the interface of a store of them, the embedded store, and the one of Apache ZooKeeper.

Knows ZooKeeper's rules for a tree, sessions and watches; nothing of brokers or topics.
"""
