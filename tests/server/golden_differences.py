"""In what answers may differ from the golden ones: a place in the answer, and why."""

import re
from typing import NamedTuple

from barnabas.wire.api import ApiKey
from tests.server.golden_frames import Frame


class Difference(NamedTuple):
    """Places (a regular expression) of an API's answers, of one release's or (None) of both."""

    key: ApiKey
    release: str | None
    place: str
    why: str

    def covers(self, frame: Frame, place: str) -> bool:
        """Whether a frame's answer may differ at `place`."""
        return (
            self.key is frame.key
            and self.release in (None, frame.release)
            and re.fullmatch(self.place, place) is not None
        )


_NEW_IN_4_4 = (
    r"errors\.deadletterqueue\.group\.enable|max\.decompressed\.message\.bytes"
    r"|remote\.copy\.lag\.(ms|bytes)"
)

DIFFERENCES = (
    Difference(
        ApiKey.FETCH, None, r".*\.aborted_transactions(\[0\].*)?",
        "the aborted transaction was not made",
    ),
    Difference(ApiKey.DESCRIBE_PRODUCERS, None, r".*\.coordinator_epoch", "nor was this one"),
    Difference(
        ApiKey.DESCRIBE_PRODUCERS, "4.3.1", r".*\.last_sequence",
        "the marker of a version 2 transaction would have reset it",
    ),
    Difference(
        ApiKey.SASL_HANDSHAKE, None, r"error_code|mechanisms",
        "no SASL yet: ILLEGAL_SASL_STATE",
    ),
    Difference(
        ApiKey.SASL_AUTHENTICATE, None, r"error_code|error_message|auth_bytes", "no SASL yet"
    ),
    *(
        Difference(key, None, r".*", "the golden brokers had an authorizer, SASL and quotas")
        for key in (
            ApiKey.DESCRIBE_ACLS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS,
            ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.DESCRIBE_DELEGATION_TOKEN,
            ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.ALTER_CLIENT_QUOTAS,
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        )
    ),
    Difference(
        ApiKey.FIND_COORDINATOR, None, r"error_code|error_message|node_id",
        "Kafka answers COORDINATOR_NOT_AVAILABLE until its topic is there; we wait for it",
    ),
    Difference(
        ApiKey.CONSUMER_GROUP_DESCRIBE, "3.9.1", r".*\.error_(code|message)",
        "GROUP_ID_NOT_FOUND as 4.x; 3.9 answers UNSUPPORTED_VERSION with ZooKeeper",
    ),
    Difference(
        ApiKey.CONSUMER_GROUP_DESCRIBE, "4.3.1", r"groups\[g-rdconsumer\].*",
        "no consumer groups of KIP-848 yet",
    ),
    Difference(
        ApiKey.LIST_GROUPS, "4.3.1", r"groups\[g-j-consumer\]\.group_type",
        "no consumer groups of KIP-848 yet",
    ),
    Difference(
        ApiKey.ELECT_LEADERS, "4.3.1", r"replica_election_results.*",
        "as 3.9: of all partitions, topics without anything to tell are left out",
    ),
    Difference(
        ApiKey.CREATE_TOPICS, "4.3.1", rf"topics\[w3\]\.configs\[({_NEW_IN_4_4})\].*",
        "settings that 4.4 has and 4.3.1 has not",
    ),
    Difference(
        ApiKey.DESCRIBE_CONFIGS, "4.3.1", rf"results\[w1\]\.configs\[({_NEW_IN_4_4})\].*",
        "settings that 4.4 has and 4.3.1 has not",
    ),
    Difference(
        ApiKey.API_VERSIONS, None, r"(supported|finalized)_features.*|zk_migration_ready",
        "of the features of KRaft there is one here, transaction.version",
    ),
    Difference(
        ApiKey.TXN_OFFSET_COMMIT, "4.3.1", r"topics\[w1\]\.partitions\[0\]\.error_code",
        "asked before the group's partition had a coordinator",
    ),
    Difference(
        ApiKey.API_VERSIONS, "4.3.1", r"api_keys\[(18|28|42)\]\.max_version",
        "4.4 serves one version more",
    ),
)  # fmt: skip

UNREPEATABLE = {
    line: "the session began before the recording, and its partitions are not known"
    for line in (124, 125, 126)
}
