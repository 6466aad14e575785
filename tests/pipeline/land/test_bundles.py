from __future__ import annotations

from barnabas.pipeline.lake.entries import Held, LandedFile
from barnabas.pipeline.land.bundles import BUNDLES_AT_ONCE, Bundle, at_once, bundles


def file(
    name: str, size: int = 10, *, day: str = "2026-03-01", topic_id: str = "id", parsed: str = ""
) -> LandedFile:
    place = "_dead_letters/topic=t" if name.startswith("dead") else "topic=t"
    path = f"{place}/date={day}/{name}.parquet"
    return LandedFile(path, 10, size, topic_id, {0: Held(0, 9, 10)}, parsed)


def names(found: list[Bundle]) -> list[list[str]]:
    return [[each.path.rpartition("/")[2][:-8] for each in bundle.files] for bundle in found]


def test_small_files_of_one_folder_are_merged_up_to_the_wanted_size() -> None:
    files = [file("a", 40), file("b", 40), file("c", 40), file("d", 40), file("large", 50)]
    assert names(bundles(files, 100)) == [["a", "b"], ["c", "d"]]


def test_nothing_is_merged_alone_or_with_what_is_of_another_kind() -> None:
    files = [
        file("a"),
        file("b", day="2026-03-02"),
        file("c", topic_id="made again"),
        file("d", parsed="schema"),
        file("dead"),
    ]
    assert bundles(files, 100) == []
    assert names(bundles([*files, file("dead2"), file("e")], 100)) == [
        ["dead", "dead2"],
        ["a", "e"],
    ]


def test_a_merged_file_holds_what_its_files_did() -> None:
    first = LandedFile(
        "topic=t/date=d/a.parquet", 12, 5, "id", {0: Held(3, 9, 7), 1: Held(0, 4, 5)}
    )
    second = LandedFile("topic=t/date=d/b.parquet", 2, 6, "id", {0: Held(10, 12, 2)})
    merged = Bundle((first, second)).merged("ab.parquet", 9)
    assert (merged.path, merged.rows, merged.bytes) == ("topic=t/date=d/ab.parquet", 14, 9)
    assert merged.offsets == {0: Held(3, 12, 9), 1: Held(0, 4, 5)}


def test_a_job_has_bundles_of_one_kind_and_not_too_many() -> None:
    many = [Bundle((file(str(n)), file(f"{n}-"))) for n in range(BUNDLES_AT_ONCE + 1)]
    other = Bundle((file("dead"), file("dead2")))
    assert [len(job) for job in at_once([other, *many])] == [BUNDLES_AT_ONCE, 1, 1]
