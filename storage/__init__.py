"""Offsets to bytes on disk and back: Apache Kafka's segmented log, byte for byte.

Record batches in all three formats, segments with their indexes, producer state, leader
epochs, retention, compaction, recovery and the directory that holds it all. Nothing in this
room knows requests, sockets or an event loop; time comes from the caller, and every file
call goes through `fs`, so that tests can make it fail.
"""
