"""A partition's log as its clients see it: offsets, appends, reads, truncation, flushes.

Knows its own segments; nothing of other logs, of data directories or of when work is due.
"""
