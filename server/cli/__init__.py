"""The `barnabas` command: a client of brokers, but for `start` and the tools for log files."""
