"""Transactions: who has one open, how it ends, and the markers that make the end known.

coordinator   the front: one entry point per request
shard         what is kept for one partition of __transaction_state that is led here
services      everything below, made when the first request or record needs it

states, transaction, transitions   the table of states, one transactional id, pure decisions
ending        a record for every step, and what follows a prepared end
expiry        time-outs of open transactions, ids that nobody uses
records       how all of it is written to __transaction_state and read back
observe       figures

markers       the markers of an ended transaction, to every partition's leader, until each has it
marker_requests   one marker to the broker that leads its partitions
marker_log    markers into the partitions that are led here

appends       the transactional batches of one Produce
verification  whether what a producer writes belongs to its transaction
other_coordinators   the same, asked of the broker that coordinates it

Knows the coordinated topic it stands on (`coordinators`) and the partitions of a transaction;
nothing of groups, whose offsets take part in transactions like any other partition's records.
"""
