"""Opening a log: what a clean stop or a crash has left becomes a log again.

Knows every file that may lie in a partition's directory; nothing of what a log does once open.
"""
