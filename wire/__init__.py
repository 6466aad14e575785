"""Bytes to typed values and back: the Kafka protocol without any input or output.

Messages are dataclasses declared once, in wire order (`schema`), bound at a version and
compiled to straight-line functions (`compiler`); `messages/` holds all of Kafka's. Headers,
frames and the two ends of a conversation (`connection`) are here too. Nothing in this room
opens a socket, reads a clock or knows what a record batch looks like inside.
"""
