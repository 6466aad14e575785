"""The pytest plugin that Barnabas ships: brokers as fixtures.

A `pytest11` module is imported before coverage starts, so this one imports the product
inside its functions only.
"""
