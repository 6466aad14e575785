"""ACLs, delegation tokens, quotas and SCRAM credentials on a broker that has none of them."""

import pytest

from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityDataRequest,
    EntryDataRequest,
    OpData,
)
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.server.raw_client import RawClient

SECURITY_DISABLED = (int(ErrorCode.SECURITY_DISABLED), "No Authorizer is configured.")
RULE = {"operation": 3, "permission_type": 3}


@pytest.mark.parametrize("version", range(4))
def test_access_rules_are_disabled(client: RawClient, version: int) -> None:
    filters = {"principal_filter": None, "host_filter": None, **RULE}
    listed = client.call(
        DescribeAclsRequest(resource_type_filter=2, resource_name_filter=None, **filters), version
    )
    assert (listed.error_code, listed.error_message, listed.resources) == (*SECURITY_DISABLED, [])
    creation = AclCreation(resource_type=2, resource_name="t", principal="User:a", host="*", **RULE)
    made = client.call(CreateAclsRequest(creations=[creation, creation]), version).results
    assert [(r.error_code, r.error_message) for r in made] == [SECURITY_DISABLED] * 2
    wanted = DeleteAclsFilter(resource_type_filter=2, resource_name_filter=None, **filters)
    (gone,) = client.call(DeleteAclsRequest(filters=[wanted]), version).filter_results
    assert (gone.error_code, gone.error_message, gone.matching_acls) == (*SECURITY_DISABLED, [])


@pytest.mark.parametrize("version", range(4))
def test_no_token_is_given_on_a_plain_listener(client: RawClient, version: int) -> None:
    refused = int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    made = client.call(CreateDelegationTokenRequest(max_lifetime_ms=1), version)
    assert (made.error_code, made.principal_type, made.principal_name, made.token_id) == (
        refused, "User", "ANONYMOUS", "",
    )  # fmt: skip
    assert made.token_requester_principal_name == ("ANONYMOUS" if version >= 3 else "")
    listed = client.call(DescribeDelegationTokenRequest(owners=None), version)
    assert (listed.error_code, listed.tokens) == (refused, [])


@pytest.mark.parametrize("key", [ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN])
@pytest.mark.parametrize("version", range(3))
def test_there_is_no_token_to_prolong_or_end(client: RawClient, key: ApiKey, version: int) -> None:
    period = "renew_period_ms" if key is ApiKey.RENEW_DELEGATION_TOKEN else "expiry_time_period_ms"
    answer = client.call(request_class(key)(hmac=b"h", **{period: 1}), version)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1


def components(*types: str) -> list[ComponentData]:
    return [ComponentData(entity_type=each, match_type=0, match="x") for each in types]


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("types", "code"),
    [
        ((), 0),
        (("user", "client-id"), 0),
        (("ip",), 0),
        (("user", "user"), ErrorCode.INVALID_REQUEST),
        (("",), ErrorCode.INVALID_REQUEST),
        (("user", "ip"), ErrorCode.INVALID_REQUEST),
        (("colour",), ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_no_quota_is_found(
    client: RawClient, types: tuple[str, ...], code: int, version: int
) -> None:
    request = DescribeClientQuotasRequest(components=components(*types), strict=False)
    answer = client.call(request, version)
    assert answer.error_code == code
    assert (answer.error_message is None) == (code == 0)
    assert not answer.entries


def test_no_quota_is_taken_that_would_not_be_kept(client: RawClient) -> None:
    entry = EntryDataRequest(
        entity=[EntityDataRequest(entity_type="user", entity_name=None)],
        ops=[OpData(key="producer_byte_rate", value=1.0, remove=False)],
    )
    request = AlterClientQuotasRequest(entries=[entry], validate_only=False)
    (answer,) = client.call(request, 1).entries
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REQUEST, "This broker enforces no client quotas.",
    )  # fmt: skip
    assert [(each.entity_type, each.entity_name) for each in answer.entity] == [("user", None)]


def test_nobody_has_scram_credentials(client: RawClient) -> None:
    everybody = client.call(DescribeUserScramCredentialsRequest(users=None), 0)
    assert (everybody.error_code, everybody.results) == (0, [])
    users = [UserName(name=name) for name in ("a", "b", "b")]
    named = client.call(DescribeUserScramCredentialsRequest(users=users), 0).results
    assert [(each.user, each.error_code) for each in named] == [
        ("a", ErrorCode.RESOURCE_NOT_FOUND), ("b", ErrorCode.DUPLICATE_RESOURCE),
    ]  # fmt: skip


def test_no_scram_credentials_are_kept(client: RawClient) -> None:
    def kept(name: str) -> ScramCredentialUpsertion:
        return ScramCredentialUpsertion(
            name=name, mechanism=1, iterations=4096, salt=b"s", salted_password=b"p"
        )

    deletions = [ScramCredentialDeletion(name=name, mechanism=1) for name in ("a", "b")]
    request = AlterUserScramCredentialsRequest(
        deletions=deletions, upsertions=[kept("b"), kept("c")]
    )
    results = client.call(request, 0).results
    assert {each.user: each.error_code for each in results} == {
        "a": ErrorCode.RESOURCE_NOT_FOUND,
        "b": ErrorCode.DUPLICATE_RESOURCE,
        "c": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
    }
