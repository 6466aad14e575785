"""The clients of the check: writers, movers and readers, each in a process that may be killed.

`run.py` is the program. `recorder.py` writes the history, `producers.py` and `consumers.py`
bring the client libraries to one shape, `roles.py` is what a client does all day.
"""
