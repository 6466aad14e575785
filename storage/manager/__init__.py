"""All logs of a broker in one or more data directories, and what they need from time to time.

The only folder of this room that the server opens; it hands slow work to a worker or a child.
"""
