"""Spark jobs that land topics in a lake, audit that nothing was lost or doubled, and replay.

A client of the broker and a reader of its segment files: nothing imports this room.
"""
