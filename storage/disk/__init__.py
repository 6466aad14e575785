"""Files and processes: the only folder that calls the operating system.

Knows paths, descriptors and errors of the disk; nothing of batches, segments or logs.
"""
