"""A Jepsen-style check of exactly-once: clients move records while everything around them breaks.

`checker/` reads what the clients wrote down and names what must not have happened.
"""
