"""Following: the logs of partitions that other brokers lead, copied batch by batch.

versions    which versions of requests an inter-broker protocol implies
followed    one partition: how far it is followed, and what it waits for
truncation  where a log and its leader's part: pure
session     what the leader has been told that we want (KIP-227)
leader      the broker that is asked: Fetch, OffsetForLeaderEpoch, ListOffsets
replica     what is done to a log: append, truncate, start anew
fetcher     the rounds of one connection to one leader
fetchers    all of a broker
"""
