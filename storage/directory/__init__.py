"""The small files of a data directory: its lock, its checkpoints, who it belongs to.

Knows how each is laid out and written safely; nothing of the logs whose offsets they hold.
"""
