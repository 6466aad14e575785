"""Settings that change while the broker runs: described, altered, kept in the registry, in force.

resources      what can have settings, by Kafka's types, and where the registry keeps them
describe       every setting of a resource, its value and where that comes from
alterations    set, delete, append, subtract: pure functions over a resource's own settings
alter          judge a change, write it, tell all brokers
live           what the registry says, in force on this broker, now and after every change
log_levels     the rooms of the broker's log as Kafka's broker loggers
"""
