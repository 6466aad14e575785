"""What Kafka's Python client says is wrong: for good, or worth another try."""

from confluent_kafka import KafkaError, KafkaException, Producer

from barnabas.pipeline.spark.failures import PipelineError

# Another producer has the transactional id now, or the coordinator has ended the transaction.
FENCED = frozenset(
    {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}
)
# What no further try changes -> what would.
FOR_GOOD: dict[int, str] = {
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the client needs IdempotentWrite on the cluster",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "the client needs Read on groups barnabas-replay-*",
    KafkaError.INVALID_RECORD: "the target takes no such record (a compacted topic wants keys)",
    KafkaError.INVALID_TIMESTAMP: "message.timestamp.before.max.ms of the target refuses it",
    KafkaError.INVALID_TRANSACTION_TIMEOUT: "lower kafka.transaction.timeout.ms",
    KafkaError.MSG_SIZE_TOO_LARGE: "raise max.message.bytes of the target",
    KafkaError.POLICY_VIOLATION: "a policy of the cluster is against it",
    KafkaError.RECORD_LIST_TOO_LARGE: "raise segment.bytes of the target",
    KafkaError.SASL_AUTHENTICATION_FAILED: "--kafka-option kafka.sasl.jaas.config says who it is",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the client needs Write and Describe on the target",
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "the client needs Write on transactional ids barnabas-replay-*"
    ),
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT: "the target's message format is too old",
    KafkaError.UNSUPPORTED_VERSION: "the broker is too old for it",
    KafkaError._AUTHENTICATION: "--kafka-option kafka.sasl.jaas.config says who it is",
    KafkaError._INVALID_ARG: "a --kafka-option is not what Python's client takes",
    KafkaError._SSL: "--kafka-option kafka.ssl.… says whom it trusts",
}


def error_of(raised: KafkaException) -> KafkaError:
    """What an exception of the client holds."""
    error = raised.args[0]
    assert isinstance(error, KafkaError)
    return error


def flush(producer: Producer, timeout_s: float) -> int:
    """producer.flush: the records that are not acknowledged yet; KafkaException when it has ended.

    The client raises a fatal error amid the reports, goes on with those, and says of the first
    of them that it came "with an exception set".
    """
    try:
        return producer.flush(timeout_s)
    except SystemError as error:
        if isinstance(error.__cause__, KafkaException):
            raise error.__cause__ from None
        raise


def is_fenced(raised: KafkaException) -> bool:
    return error_of(raised).code() in FENCED


def refuse_if_for_good(raised: KafkaException, doing: str) -> None:
    """Raise PipelineError where another try would end the same."""
    error = error_of(raised)
    if hint := FOR_GOOD.get(error.code()):
        raise PipelineError(f"{doing}: {error.str().rstrip('.')}; {hint}") from raised
