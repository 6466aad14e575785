"""Record batches as bytes: where their fields lie, what their records say, how they are made.

Knows every message format and codec; nothing of files' names, segments or topics' settings.
"""
