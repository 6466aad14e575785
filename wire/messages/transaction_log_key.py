"""Key of a transaction's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-98)


@message(versions=(0, 0), record_type=0)
class TransactionLogKey(Message):
    transactional_id: str = field(String)
