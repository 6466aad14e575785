"""The broker: the one room that sees the wire, the storage and the network.

One event loop owns all state. A request travels listener, connection, dispatch, handler,
domain object, typed response, and back out in request order. `broker` is the composition
root; nothing is global.
"""
