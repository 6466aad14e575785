"""What the fetchers of a broker have asked and got, those that have ended included."""


class FetchCounts:
    """Fetches, and bytes of batches."""

    __slots__ = ("received_bytes", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.received_bytes = 0
