"""A partition's log as its clients see it: offsets, appends, reads, truncation, flushes.

`log.py` puts it together from parts that each stand alone: the offsets, the store of segments,
the flusher, the lookup of offsets, reader, appender and trimmer; a listener is told what its
owner has to act on. Knows its own segments; nothing of other logs, of data directories or of
when work is due.
"""
