"""Key of a control record: what kind of marker it is."""

from barnabas.wire.primitives import Int16
from barnabas.wire.schema import Message, field, message

# v0 (KIP-98)


@message(versions=(0, 0))
class ControlRecordTypeSchema(Message):
    # 0 abort, 1 commit, 2 to 6 of the metadata quorum
    type: int = field(Int16)
