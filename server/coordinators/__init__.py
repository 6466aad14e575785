"""What every coordinator of names shares: which partition a name belongs to, who leads it.

Knows partitions of an internal topic; nothing of groups or transactions.
"""
