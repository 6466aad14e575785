"""Transactions: who has one open, how it ends, and the markers that make the end known.

Knows the records of __transaction_state and the partitions of a transaction; nothing of groups,
whose offsets take part in transactions like any other partition's records.

markers      the markers of an ended transaction, to every partition's leader, until each has it
marker_log   markers into the partitions that are led here
"""
