"""One way to a Spark session, to Kafka through it, and to one-sentence errors."""
