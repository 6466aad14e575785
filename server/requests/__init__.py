"""What surrounds one request on its way: its context, what a test wants of it, what is counted.

Knows connections and messages' headers; nothing of what any API does.
"""
