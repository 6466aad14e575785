"""Moving a replica between data directories of its broker (AlterReplicaLogDirs, KIP-113).

A log is filled in the other directory from the one in use, bytes as they are, while that is
produced to, fetched from, truncated and trimmed as ever; when both end at the same offset the new
one takes the place of the old one between two requests. Whether this broker leads the partition
or follows makes no difference.
"""
