"""The data directories of a broker, and the work that waits for them.

Knows storage's manager, threads and timers; nothing of topics or requests.
"""
