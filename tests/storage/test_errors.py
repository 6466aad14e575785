"""Errors say where they happened, as far as anybody knew."""

from barnabas.storage.errors import CorruptBatch, InvalidRecord, StorageError


def test_reason_alone() -> None:
    assert str(CorruptBatch("torn")) == "torn"


def test_places_are_filled_in_but_not_replaced() -> None:
    error = CorruptBatch("torn", offset=5)
    assert str(error) == "offset 5: torn"
    assert error.located("orders-0", 9) is error
    assert str(error) == "orders-0 at offset 5: torn"
    assert str(error.located("other-1")) == "orders-0 at offset 5: torn"
    assert str(StorageError("full", topic_partition="orders-0")) == "orders-0: full"


def test_record_errors_are_kept() -> None:
    error = InvalidRecord("two", record_errors=[(0, "no key"), (3, "no key")])
    assert error.record_errors == [(0, "no key"), (3, "no key")]
    assert InvalidRecord("none").record_errors == []
