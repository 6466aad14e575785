"""The group coordinator: who is in which group, what each member reads, what was committed.

coordinator   the front: one entry point per request
shard         what is kept for one partition of __consumer_offsets that is led here
services      everything below, made when the first request or record needs it

group, members, protocols    one group: the table of its states, who is in it, what they speak
joining, syncing, rebalance, responses    the classic rebalance protocol
offsets, commits, removal    committed offsets: kept, written, expired and deleted
records, loading             how all of it is written to __consumer_offsets and read back
observe                      figures

Knows the coordinated topic it stands on (`coordinators`), not how partitions come and go.
"""
