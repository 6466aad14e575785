"""The group coordinator: who is in which group, what each member reads, what was committed.

coordinator   the front: one entry point per request
shards        which partitions of __consumer_offsets are led here, and the groups in them
group         one group: members, generation, offsets; `states` has the table it moves by
joining, syncing, rebalance, sessions    the classic rebalance protocol
commits, offsets, expiry                 committed offsets
records, writer, loading                 how all of it is kept in __consumer_offsets
"""
