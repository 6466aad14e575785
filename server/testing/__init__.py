"""The testing face: a broker inside a test process, faults, clock, request log, snapshots."""
