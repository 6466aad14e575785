"""The broker's settings: what there is, what is set, what it means, and changes while it runs.

definitions    every setting as a row of a table, by area
table          reads the tables; `names`, `limits`, `typed` and `checks` say what is allowed
config         the settings of one broker, from files and the command line (`sources`)
describe       a setting with its value, its source and its synonyms
changes/       settings altered while the broker runs
"""
