"""Errors say where they happened, as far as anybody knew."""

import errno

import pytest

from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    StorageError,
    is_disk_failure,
    is_out_of_descriptors,
)


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


@pytest.mark.parametrize("code", [errno.EIO, errno.EROFS, errno.ENOSPC, None])
def test_what_a_disk_says_is_a_disks_failure(code: int | None) -> None:
    error = OSError(code, "no") if code else OSError("no")
    assert is_disk_failure(error) and not is_out_of_descriptors(error)


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EPIPE, errno.ECHILD, errno.ENOMEM])
def test_a_missing_file_or_a_dead_child_is_not(code: int) -> None:
    assert not is_disk_failure(OSError(code, "no"))


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_nor_is_a_full_descriptor_table(code: int) -> None:
    error = OSError(code, "no")
    assert is_out_of_descriptors(error) and not is_disk_failure(error)
