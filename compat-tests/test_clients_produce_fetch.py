"""Every client family writes with every codec and acknowledgement, and reads all the others.

Issue 5, item 1: contents are compared byte for byte, by assignment, at the acknowledged offsets.
"""

from __future__ import annotations

import pytest
from broker_admin import BrokerAdmin
from client_builds import Family, skip_where_lacking
from clients import ClientPool
from families import FAMILIES
from records import an_hour_ago_ms, comparable, series

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COUNT = 23
ACKNOWLEDGEMENTS = (("0", 0), ("1", 0), ("all", 0), ("all", 1))

families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


@pytest.fixture(scope="module")
def topic_of(broker_admin: BrokerAdmin) -> dict[str, str]:
    """One topic per family, made when the first test asks."""

    class Topics(dict[str, str]):
        def __missing__(self, name: str) -> str:
            self[name] = broker_admin.create_topic(f"own-{name}")
            return self[name]

    return Topics()


@families
@pytest.mark.parametrize("codec", CODECS)
def test_records_are_read_back_as_they_were_written(
    family: Family,
    codec: str,
    clients: ClientPool,
    broker_admin: BrokerAdmin,
    topic_of: dict[str, str],
) -> None:
    skip_where_lacking(family, codec)
    topic, timestamp_ms = topic_of[family.name], an_hour_ago_ms()
    first = start = broker_admin.end_offset(topic)
    expected = []
    for acks, idempotent in ACKNOWLEDGEMENTS:
        if idempotent and "idempotent" in family.lacks:
            continue
        prefix = f"{codec}-{acks}-{idempotent}"
        events = clients.run(
            family, "produce", topic=topic, partition=0, count=COUNT, codec=codec, acks=acks,
            idempotent=idempotent, prefix=prefix, timestamp=timestamp_ms,
        )  # fmt: skip
        told = {event["index"]: event["offset"] for event in events if event["event"] == "acked"}
        assert told == {index: -1 if acks == "0" else first + index for index in range(COUNT)}
        expected += series(prefix, COUNT)
        first += COUNT
    count = len(expected)
    read = clients.run(family, "consume", topic=topic, partition=0, from_=start, count=count)
    assert [comparable(event) for event in read] == expected
    assert [event["offset"] for event in read] == list(range(start, start + count))
    written_ms = [timestamp_ms + index % COUNT for index in range(count)]
    assert [event["timestamp"] for event in read] == written_ms


@families
def test_the_clients_own_partitioner_spreads_records_over_a_topic(
    family: Family, clients: ClientPool, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic(f"spread-{family.name}", partitions=3)
    clients.run(family, "produce", topic=topic, partition=-1, count=40, prefix="spread")
    ends = broker_admin.end_offsets(topic, 3)
    assert sum(ends.values()) == 40
    read = [
        event
        for partition, end in ends.items()
        for event in clients.run(family, "consume", topic=topic, partition=partition, count=end)
    ]
    assert sorted(map(repr, map(comparable, read))) == sorted(map(repr, series("spread", 40)))


@pytest.fixture(scope="module")
def mixed_topic(clients: ClientPool, broker_admin: BrokerAdmin) -> dict[str, tuple[str, list[str]]]:
    """Per writing family one partition with a run of each codec it has: topic and codecs."""

    class Topics(dict[str, tuple[str, list[str]]]):
        def __missing__(self, name: str) -> tuple[str, list[str]]:
            family, topic = FAMILIES[name], broker_admin.create_topic(f"mixed-{name}")
            codecs = [codec for codec in CODECS if codec not in family.lacks]
            for codec in codecs:
                clients.run(
                    family, "produce", topic=topic, partition=0, count=COUNT, codec=codec,
                    prefix=codec,
                )  # fmt: skip
            self[name] = topic, codecs
            return self[name]

    return Topics()


@families
def test_a_family_reads_what_every_family_wrote(
    family: Family, clients: ClientPool, mixed_topic: dict[str, tuple[str, list[str]]]
) -> None:
    for writer in FAMILIES:
        topic, codecs = mixed_topic[writer]
        readable = codecs[: _first_unreadable(family, codecs)]
        read = clients.run(family, "consume", topic=topic, partition=0, count=COUNT * len(readable))
        expected = [record for codec in readable for record in series(codec, COUNT)]
        assert [comparable(event) for event in read] == expected, f"written by {writer}"


def _first_unreadable(family: Family, codecs: list[str]) -> int:
    lacking = [index for index, codec in enumerate(codecs) if codec in family.lacks]
    return lacking[0] if lacking else len(codecs)
