"""One stretch of a log: a `.log` file of batches and its three indexes.

Knows where a batch lies in it, and how to make its indexes anew; decides nothing about when a
segment begins, is deleted or compacted.
"""
