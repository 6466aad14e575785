"""Compaction of closed segments, carried out in a child process.

Knows segments and batches, and writes `.cleaned` files only; nothing of the log they are of,
which swaps them in or throws them away.
"""
