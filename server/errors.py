"""Which error code an exception becomes: the one table between the rooms and the protocol.

Domain code of the server raises `ApiError` with the code it means; storage raises its own
family, ignorant of codes. What is in neither is a bug, logged once by `dispatch` and
answered UNKNOWN_SERVER_ERROR.
"""

from barnabas.storage import errors as storage
from barnabas.wire.error_codes import ErrorCode


class ApiError(Exception):
    """A refusal with Kafka's own code; `message` goes to the client where the API has room."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(f"{code.name}: {message}" if message else code.name)
        self.code = code
        self.message = message


# Nearest class wins, so a subclass stands for itself only where Kafka tells the two apart.
STORAGE_CODES: dict[type[storage.StorageError], ErrorCode] = {
    storage.CorruptBatch: ErrorCode.CORRUPT_MESSAGE,
    storage.InvalidRecord: ErrorCode.INVALID_RECORD,
    storage.InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    storage.RecordTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    storage.RecordListTooLarge: ErrorCode.RECORD_LIST_TOO_LARGE,
    storage.UnsupportedCodec: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    storage.UnsupportedForMessageFormat: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    storage.OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    storage.OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    storage.DuplicateSequence: ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
    storage.InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    storage.UnknownProducer: ErrorCode.UNKNOWN_PRODUCER_ID,
    storage.InvalidTransactionState: ErrorCode.INVALID_TXN_STATE,
    storage.TransactionCoordinatorFenced: ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    storage.LogDirectoryFailed: ErrorCode.KAFKA_STORAGE_ERROR,
    storage.TooManyOpenFiles: ErrorCode.KAFKA_STORAGE_ERROR,
}


def code_of(error: Exception) -> ErrorCode:
    """The code for a refusal of any room; UNKNOWN_SERVER_ERROR for what is no refusal."""
    if isinstance(error, ApiError):
        return error.code
    for cls in type(error).__mro__:
        if cls in STORAGE_CODES:
            return STORAGE_CODES[cls]
    return ErrorCode.UNKNOWN_SERVER_ERROR


def message_of(error: Exception) -> str | None:
    """What to tell the client in words, where the API has room for it."""
    return error.message if isinstance(error, ApiError) else str(error)


def is_expected(error: Exception) -> bool:
    """Whether the exception is a refusal rather than a bug."""
    return code_of(error) is not ErrorCode.UNKNOWN_SERVER_ERROR or isinstance(error, ApiError)
