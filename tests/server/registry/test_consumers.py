"""Offsets of old consumer groups."""

from tests.server.registry.recording import kafka_wrote
from tests.server.registry.test_topics import ruling


async def test_offsets_are_kept_by_group_topic_and_partition() -> None:
    _, (one,) = await ruling()
    await one.consumers.write_offset("g", "t1", 0, 42)
    await one.consumers.write_offset("g", "t1", 0, 43)
    await one.consumers.write_offset("g", "t2", 3, 2**62)
    await one.consumers.write_offset("other", "t1", 0, 1)
    asked = [("t1", 0), ("t1", 1), ("t2", 3)]
    assert await one.consumers.read_offsets("g", asked) == {("t1", 0): 43, ("t2", 3): 2**62}
    assert await one.consumers.read_offsets("nobody", asked) == {}


async def test_the_znodes_are_kafkas() -> None:
    _, (one,) = await ruling()
    await one.consumers.write_offset("g-old", "t1", 0, 42)
    wrote = [(path, data) for _, path, data in kafka_wrote("offsetcommit-v0")]
    assert len(wrote) == 4
    for path, data in wrote:
        assert (await one.store.get(path)).data == (data.encode() or None)


async def test_all_can_be_forgotten() -> None:
    _, (one,) = await ruling()
    await one.consumers.delete_all()
    await one.consumers.write_offset("g", "t1", 0, 42)
    await one.consumers.write_offset("other", "t2", 3, 1)
    await one.consumers.delete_all()
    assert await one.consumers.read_offsets("g", [("t1", 0)]) == {}
    assert await one.store.children("/consumers") == []
