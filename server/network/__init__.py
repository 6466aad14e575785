"""Bytes between sockets and requests: the event loop's way for connections, and its limits.

Knows frames and files to send; nothing of what a request means.
"""
