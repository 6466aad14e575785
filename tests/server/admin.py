"""Requests about topics and settings, in the few words that tests want to spend on them."""

from collections.abc import Mapping, Sequence
from typing import Any

from barnabas.server.settings.changes.resources import ResourceType
from barnabas.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
)
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.server.raw_client import RawClient

TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
SET, DELETE, APPEND, SUBTRACT = range(4)


def new_topic(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    settings: Mapping[str, str | None] | None = None,
) -> CreatableTopic:
    """A topic to create."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in (settings or {}).items()
        ],
    )


def assigned_topic(name: str, *replicas: Sequence[int], first: int = 0) -> CreatableTopic:
    """A topic to create with its partitions' replicas given."""
    topic = new_topic(name, -1, -1)
    topic.assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=list(each))
        for index, each in enumerate(replicas, first)
    ]
    return topic


def create(
    client: RawClient,
    *topics: CreatableTopic,
    version: int = 7,
    timeout_ms: int = 10_000,
    validate_only: bool = False,
) -> list[CreatableTopicResult]:
    """Create topics; the answer's topics."""
    request = CreateTopicsRequest(
        topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only
    )
    results: list[CreatableTopicResult] = client.call(request, version).topics
    return results


def create_code(client: RawClient, topic: CreatableTopic, **options: Any) -> int:
    """The error code that creating one topic answers."""
    return create(client, topic, **options)[0].error_code


def describe(
    client: RawClient,
    kind: ResourceType,
    name: str,
    keys: list[str] | None = None,
    *,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> DescribeConfigsResult:
    """Describe one resource."""
    resource = DescribeConfigsResource(
        resource_type=int(kind), resource_name=name, configuration_keys=keys
    )
    request = DescribeConfigsRequest(
        resources=[resource], include_synonyms=synonyms, include_documentation=documentation
    )
    result: DescribeConfigsResult = client.call(request, version).results[0]
    return result


def setting(
    client: RawClient, kind: ResourceType, name: str, key: str
) -> DescribeConfigsResourceResult:
    """One setting of a resource, with its synonyms."""
    (found,) = describe(client, kind, name, [key], synonyms=True).configs
    return found


def value(client: RawClient, kind: ResourceType, name: str, key: str) -> str | None:
    """The value of one setting."""
    return setting(client, kind, name, key).value


def resource(kind: int, name: str, *changes: tuple[str, int, str | None]) -> AlterConfigsResource:
    """What to change, incrementally, of one resource."""
    return AlterConfigsResource(
        resource_type=int(kind),
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=operation, value=text)
            for key, operation, text in changes
        ],
    )


def alter(
    client: RawClient,
    *resources: AlterConfigsResource,
    version: int = 1,
    validate_only: bool = False,
) -> list[tuple[int, str | None]]:
    """Change settings incrementally; (error code, message) of each resource."""
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    responses = client.call(request, version).responses
    return [(each.error_code, each.error_message) for each in responses]
