"""Clients from before message format v2, beside the newest Java client (issue 5, item 4).

They need a broker that serves Produce and Fetch from version 0: Apache Kafka up to 3.9. What
they write is converted to v2 in the log, what they read is converted back for them.
"""

from __future__ import annotations

import pytest
from broker_admin import BrokerAdmin
from client_builds import Family, skip_where_lacking
from clients import ClientPool, Event
from families import JAVA_NEWEST, OLD_FAMILIES
from records import Comparable, an_hour_ago_ms, comparable, series

CODECS = ("none", "gzip", "snappy", "lz4")
COUNT = 13
EVERYBODY = (JAVA_NEWEST, *OLD_FAMILIES.values(), JAVA_NEWEST)  # in the order of writing
NO_TIMESTAMP = -1

old_families = pytest.mark.parametrize("family", OLD_FAMILIES.values(), ids=OLD_FAMILIES)
codecs = pytest.mark.parametrize("codec", CODECS)


@pytest.fixture(scope="module")
def own_topic(broker_admin: BrokerAdmin) -> str:
    """A topic with a partition for every old family."""
    return broker_admin.create_topic("own-old", len(OLD_FAMILIES))


@old_families
@codecs
def test_an_old_client_reads_back_what_it_wrote(
    family: Family, codec: str, clients: ClientPool, broker_admin: BrokerAdmin, own_topic: str
) -> None:
    skip_where_lacking(family, codec)
    partition = list(OLD_FAMILIES).index(family.name)
    start = broker_admin.end_offset(own_topic, partition)
    for number, acks in enumerate(("0", "1", "all")):
        events = clients.run(
            family, "produce", topic=own_topic, partition=partition, count=COUNT, codec=codec,
            acks=acks, prefix=acks,
        )  # fmt: skip
        told = [event["offset"] for event in events if event["event"] == "acked"]
        first = start + number * COUNT
        assert told == ([-1] * COUNT if acks == "0" else list(range(first, first + COUNT)))
    expected = [
        record
        for acks in ("0", "1", "all")
        for record in series(acks, COUNT, with_headers="headers" not in family.lacks)
    ]
    for skipped in (0, 5):  # 5 lies inside the first compressed set
        read = clients.run(
            family, "consume", topic=own_topic, partition=partition, from_=start + skipped,
            count=len(expected) - skipped,
        )  # fmt: skip
        assert [comparable(event) for event in read] == expected[skipped:]
        assert read[0]["offset"] == start + skipped


class SharedTopic:
    """One partition per codec, into which every family wrote in turn."""

    def __init__(self, clients: ClientPool, admin: BrokerAdmin) -> None:
        self.clients = clients
        self.name = admin.create_topic("shared-old", len(CODECS))
        self.timestamp_ms = an_hour_ago_ms()
        for turn, family in enumerate(EVERYBODY):
            for codec in CODECS:
                if codec not in family.lacks:
                    self._write(turn, family, codec)

    def _write(self, turn: int, family: Family, codec: str) -> None:
        timestamp = None if "timestamp" in family.lacks else self.timestamp_ms
        self.clients.run(
            family, "produce", topic=self.name, partition=CODECS.index(codec), count=COUNT,
            codec=codec, acks="all", prefix=f"{turn}-{codec}", timestamp=timestamp,
        )  # fmt: skip

    def expected(self, reader: Family, codec: str) -> list[Comparable]:
        """All records of the codec, with headers where both sides have them."""
        return [
            record
            for turn, writer in enumerate(EVERYBODY)
            if codec not in writer.lacks
            for record in series(
                f"{turn}-{codec}",
                COUNT,
                with_headers="headers" not in writer.lacks and "headers" not in reader.lacks,
            )
        ]

    def expected_timestamps_ms(self, codec: str) -> list[int]:
        """The records' timestamps; there is none where the writer's format had none."""
        return [
            NO_TIMESTAMP if "timestamp" in writer.lacks else self.timestamp_ms + index
            for writer in EVERYBODY
            if codec not in writer.lacks
            for index in range(COUNT)
        ]

    def read(self, reader: Family, codec: str) -> list[Event]:
        """Let a family read the codec's partition."""
        count, partition = len(self.expected_timestamps_ms(codec)), CODECS.index(codec)
        return self.clients.run(
            reader, "consume", topic=self.name, partition=partition, count=count
        )


@pytest.fixture(scope="module")
def shared_topic(clients: ClientPool, broker_admin: BrokerAdmin) -> SharedTopic:
    """The topic that everybody writes to."""
    return SharedTopic(clients, broker_admin)


@pytest.mark.parametrize(
    "family", [JAVA_NEWEST, *OLD_FAMILIES.values()], ids=lambda family: family.name
)
@codecs
def test_everybody_reads_what_everybody_wrote(
    family: Family, codec: str, shared_topic: SharedTopic
) -> None:
    skip_where_lacking(family, codec)
    read = shared_topic.read(family, codec)
    assert [comparable(event) for event in read] == shared_topic.expected(family, codec)
    assert [event["offset"] for event in read] == list(range(len(read)))
    if "timestamp" not in family.lacks:
        expected = shared_topic.expected_timestamps_ms(codec)
        assert [event["timestamp"] for event in read] == expected
