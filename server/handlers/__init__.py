"""One file per API: what it answers, at which versions, and what Kafka does that this copies."""
