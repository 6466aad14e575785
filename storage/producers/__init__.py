"""What a log remembers of its writers: sequences, open transactions, leaders' epochs.

Knows batches' headers and its own snapshot files; nothing of segments.
"""
