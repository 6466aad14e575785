"""What is counted of each topic. The names are those of `metrics`, in snake_case.

Kafka counts the same at the same places (BrokerTopicStats). What only the whole broker has there,
records without a key or with a wrong CRC, is counted by topic here, and in all.
"""

TOPIC_COUNTS = (
    "bytes_in",
    "bytes_out",
    "bytes_rejected",
    "failed_fetch_requests",
    "failed_produce_requests",
    "fetch_message_conversions",
    "invalid_magic_number_records",
    "invalid_message_crc_records",
    "invalid_offset_or_sequence_records",
    "messages_in",
    "no_key_compacted_topic_records",
    "produce_message_conversions",
    "replication_bytes_out",
    "total_fetch_requests",
    "total_produce_requests",
)


class TopicMetrics:
    """Counts of one topic on this broker; bytes are those of record batches."""

    __slots__ = TOPIC_COUNTS

    def __init__(self) -> None:
        self.bytes_in = 0
        self.bytes_out = 0
        self.bytes_rejected = 0
        self.failed_fetch_requests = 0
        self.failed_produce_requests = 0
        self.fetch_message_conversions = 0
        self.invalid_magic_number_records = 0
        self.invalid_message_crc_records = 0
        self.invalid_offset_or_sequence_records = 0
        self.messages_in = 0
        self.no_key_compacted_topic_records = 0
        self.produce_message_conversions = 0
        self.replication_bytes_out = 0
        self.total_fetch_requests = 0
        self.total_produce_requests = 0
