"""What commits are made with, to be loaded in steps (`core.loading`) by the first of them."""

from typing import Final

COMMIT_PARTS: Final = (
    "barnabas.server.coordinators.writer",
    "barnabas.server.groups.protocols",
    "barnabas.wire.messages.join_group",
    "barnabas.wire.messages.sync_group",
    "barnabas.server.groups.members",
    "barnabas.server.groups.group",
    "barnabas.wire.messages.group_metadata_key",
    "barnabas.wire.messages.group_metadata_value",
    "barnabas.wire.messages.offset_commit_key",
    "barnabas.wire.messages.offset_commit_value",
    "barnabas.server.groups.records",
    "barnabas.server.groups.commits",
)
"""In this order: that others stand on comes first."""
