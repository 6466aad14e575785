"""Counters that hot paths add to; `observe` shows them."""


class GroupCounts:
    """What the coordinator has done since it was made."""

    __slots__ = (
        "group_completed_rebalance_count",
        "offset_commit_count",
        "offset_deletion_count",
        "offset_expiration_count",
    )

    def __init__(self) -> None:
        self.offset_commit_count = 0
        self.offset_expiration_count = 0
        self.offset_deletion_count = 0
        self.group_completed_rebalance_count = 0
