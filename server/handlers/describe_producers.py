"""DescribeProducers: the producers that a partition's leader remembers (KIP-664)."""

from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import name_fault
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.storage.producers.entry import ProducerEntry
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

VERSIONS = Versions(0, 0)


def handle(
    request: DescribeProducersRequest, context: RequestContext
) -> Sliced[DescribeProducersResponse]:
    """Describe every partition."""
    return Sliced(_answer_all(request, context))


def _answer_all(
    request: DescribeProducersRequest, context: RequestContext
) -> Steps[DescribeProducersResponse]:
    response = DescribeProducersResponse()
    for topic in request.topics:
        answer = TopicResponse(name=topic.name)
        response.topics.append(answer)
        yield
        for index in topic.partition_indexes:
            answer.partitions.append((yield from _answer(topic.name, index, context)))
            yield
    return response


def _answer(topic: str, index: int, context: RequestContext) -> Steps[PartitionResponse]:
    response = PartitionResponse(partition_index=index)
    try:
        if (fault := name_fault(topic)) is not None:
            raise fault
        partition = context.broker.replicas.require(topic, index)
        partition.check_leader()
    except ApiError as error:
        response.error_code, response.error_message = int(error.code), error.message
        return response
    producers = partition.log.producers.producers.values()
    response.active_producers = yield from each(tuple(producers), _state)
    return response


def _state(producer: ProducerEntry) -> ProducerState:
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=producer.current_transaction_first_offset,
    )


def refuse(request: DescribeProducersRequest, code: ErrorCode) -> DescribeProducersResponse:
    """Every partition answers the error."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    PartitionResponse(partition_index=index, error_code=int(code))
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )
