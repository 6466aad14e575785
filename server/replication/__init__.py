"""The partitions this broker holds: leadership, appends, reads and the high watermark.

partition, states            one replica: leader, follower or offline
replicas, hosting            all of them, and what becomes of them when the cluster changes
fetch_sessions               what a client fetches, kept from request to request
fetch_reader, watched_fetch  one fetch: what it reads, and whether what it waits for is enough
unsettled_appends            one produce: whether what it waits for is as safe as promised
converting_reader            a fetch of clients that know only older message formats
"""
