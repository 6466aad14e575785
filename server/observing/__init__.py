"""What the broker tells of itself: logs, metrics, the HTTP port that serves them.

Reads the parts it is handed; nothing depends on what it counts.
"""
