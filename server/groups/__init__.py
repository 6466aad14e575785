"""The group coordinator: who is in which group, what each member reads, what was committed.

coordinator   the front: one entry point per request
shard         what is kept for one partition of __consumer_offsets that is led here
group         one group: members, generation, offsets; `states` has the table it moves by
joining, syncing, rebalance, sessions    the classic rebalance protocol
commits, offsets, expiry                 committed offsets
records, loading                         how all of it is kept in __consumer_offsets
"""
