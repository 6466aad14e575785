"""What surrounds one request on its way: its context, what a test wants of it, what is counted.

Knows connections, messages' headers, and the broker's parts that a handler is given (`services`);
nothing of what any API does.
"""
