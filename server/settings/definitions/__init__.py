"""Every setting of the broker, as tables by area: `row` says what a row holds.

The definitions are those of Kafka 3.9.1, with what differs in 4.4 and the names that only 4.4 has;
`compat-tests/config` holds them against both. `limits` has the types and limits that the settings
of topics do not have. `settings.table` reads the tables, each row when its setting is asked for.
"""
