"""What goes wrong with a read of segment files, each said in one sentence."""


class LogSourceError(Exception):
    """A directory, a file or an option that cannot be read as asked."""


class DamagedSegment(LogSourceError):
    """Bytes in the middle of a segment that are no batch."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(
            f"{path} is damaged at position {position}: {reason}; a broker that opens the log"
            " would cut it off there, failOnDataLoss=false reads on behind it"
        )
        self.position = position

    def __reduce__(self) -> tuple[type[LogSourceError], tuple[str]]:
        return LogSourceError, (str(self),)


class LostRecords(LogSourceError):
    """Offsets that were there, or were asked for, and are not."""

    def __init__(self, name: str, start: int, end: int, reason: str) -> None:
        super().__init__(
            f"{name}: offsets {start} to {end - 1} cannot be read: {reason};"
            " failOnDataLoss=false reads what there is"
        )

    def __reduce__(self) -> tuple[type[LogSourceError], tuple[str]]:
        return LogSourceError, (str(self),)
