"""The finalized feature `transaction.version` of a broker that runs, over the wire."""

from __future__ import annotations

import socket
import time
from typing import Any

from barnabas.wire.connection import ClientConnection
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

FEATURE = "transaction.version"
UPGRADE, SAFE_DOWNGRADE = 1, 2
PATIENCE_SECONDS = 20.0


def has_transaction_version(address: str) -> bool:
    """Whether the broker has the feature; Apache Kafka 3.9.1 with ZooKeeper has none."""
    return FEATURE in {feature.name for feature in _features(address).supported_features}


def finalized_transaction_version(address: str) -> int:
    """What clients are told; 0 where nothing is finalized."""
    finalized = _features(address).finalized_features
    levels = {feature.name: feature.max_version_level for feature in finalized}
    return int(levels.get(FEATURE, 0))


def _features(address: str) -> Any:
    request = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
    return _ask(address, request, 4)


def set_transaction_version(address: str, version: int) -> None:
    """Raise or lower the feature and wait until clients are told so."""
    before = finalized_transaction_version(address)
    if before == version:
        return
    kind = UPGRADE if version > before else SAFE_DOWNGRADE
    update = FeatureUpdateKey(feature=FEATURE, max_version_level=version, upgrade_type=kind)
    answer = _ask(address, UpdateFeaturesRequest(feature_updates=[update]), 1)
    assert answer.error_code == 0, answer
    deadline = time.monotonic() + PATIENCE_SECONDS
    while finalized_transaction_version(address) != version:
        assert time.monotonic() < deadline, f"{FEATURE} has not become {version}"


def _ask(address: str, request: Any, version: int) -> Any:
    host, port = address.rsplit(":", 1)
    wire = ClientConnection("features")
    with socket.create_connection((host, int(port)), PATIENCE_SECONDS) as connection:
        connection.sendall(wire.send(request, version))
        while (found := wire.next_response()) is None:
            data = connection.recv(1 << 16)
            assert data, "the broker has closed the connection"
            wire.receive_data(data)
    return found[1]
