"""The partitions this broker holds: leadership, appends, reads and the high watermark."""
