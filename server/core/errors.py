"""Which error code an exception becomes: the one table between the rooms and the protocol.

Domain code of the server raises `ApiError` with the code it means; storage and the registry
raise families of their own, ignorant of codes. What is in none is a bug, logged once by
`dispatch` and answered UNKNOWN_SERVER_ERROR.
"""

from barnabas.server.registry import errors as registry
from barnabas.server.registry.znodes import store
from barnabas.storage import errors as storage
from barnabas.wire.error_codes import ErrorCode

LONGEST_MESSAGE = 8_000  # characters: at four bytes each the wire's strings still hold them


def shortened(message: str) -> str:
    """A message for a client that repeats what the client has sent, which may be of any length."""
    return message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"


class ApiError(Exception):
    """A refusal with Kafka's own code; `message` goes to the client where the API has room."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(f"{code.name}: {message}" if message else code.name)
        self.code = code
        self.message = None if message is None else shortened(message)


class Unanswered(Exception):
    """A broker was asked and has not answered; whether it did what was asked is not known."""


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

# Those of the store that say nothing of the request: it could not be asked, or not be written.
REGISTRY_CODES: dict[type[Exception], ErrorCode] = {
    store.StoreFailed: ErrorCode.KAFKA_STORAGE_ERROR,
    store.ConnectionLoss: ErrorCode.REQUEST_TIMED_OUT,
    store.SessionExpired: ErrorCode.NOT_CONTROLLER,
    registry.ControllerMoved: ErrorCode.STALE_CONTROLLER_EPOCH,
    registry.BrokerIdTaken: ErrorCode.DUPLICATE_BROKER_REGISTRATION,
    registry.VersionConflict: ErrorCode.REQUEST_TIMED_OUT,  # retriable: nothing has happened
    registry.TopicExists: ErrorCode.TOPIC_ALREADY_EXISTS,
    registry.UnknownTopic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
_CODES: dict[type, ErrorCode] = {**STORAGE_CODES, **REGISTRY_CODES}

# What a handler catches around a change of the registry, to answer for one topic of many.
REFUSALS: tuple[type[Exception], ...] = (ApiError, *REGISTRY_CODES)


def code_of(error: Exception) -> ErrorCode:
    """The code for a refusal of any room; UNKNOWN_SERVER_ERROR for what is no refusal."""
    if isinstance(error, ApiError):
        return error.code
    for cls in type(error).__mro__:
        if cls in _CODES:
            return _CODES[cls]
    return ErrorCode.UNKNOWN_SERVER_ERROR


def message_of(error: Exception) -> str | None:
    """What to tell the client in words, where the API has room for it."""
    return error.message if isinstance(error, ApiError) else shortened(str(error))


def is_expected(error: Exception) -> bool:
    """Whether the exception is a refusal rather than a bug."""
    return code_of(error) is not ErrorCode.UNKNOWN_SERVER_ERROR or isinstance(error, ApiError)
