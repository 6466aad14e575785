"""Commands about the broker's life, its data, its topics and its clock."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from barnabas.server.cluster.metadata import TopicInfo
from barnabas.server.testing.fields import Fields
from barnabas.server.testing.host import Host

TOPIC = ("name", "partitions", "replicas", "settings")

# What a broker that runs tells of its cluster; the last is only the controller's own.
KNOWN = ("broker_id", "session", "brokers", "controller_id", "controller_epoch")

Handler = Callable[[Host, Fields, int], Awaitable[object]]


async def state(host: Host, fields: Fields, number: int) -> object:
    """Whether the broker runs, and where it is."""
    return {
        "running": host.is_running,
        "bootstrap_servers": host.bootstrap_servers,
        "listeners": [str(endpoint) for endpoint in host.endpoints],
        "data_dir": str(host.config.data_dirs[0]),
        "pose": host.config.barnabas_pose_as,
        **_cluster(host),
    }


def _cluster(host: Host) -> dict[str, object]:
    """What it knows of the brokers of its cluster while it runs."""
    if not host.is_running:
        return dict.fromkeys(KNOWN)
    broker, office = host.broker, host.broker.controller
    known = (
        broker.broker_id,
        broker.registry.store.state.value,
        sorted(broker.metadata.brokers),
        broker.metadata.controller_id,
        office.epoch.epoch if office.epoch is not None else None,
    )
    return dict(zip(KNOWN, known, strict=True))


def change_life(change: Callable[[Host], Awaitable[None]]) -> Handler:
    """The handler of a command without fields that answers how the broker is then."""

    async def handle(host: Host, fields: Fields, number: int) -> object:
        await change(host)
        return await state(host, fields, number)

    return handle


async def pose(host: Host, fields: Fields, number: int) -> object:
    """Restart as another release."""
    await host.pose_as(fields.optional_text("release") or "")
    return await state(host, fields, number)


async def snapshot(host: Host, fields: Fields, number: int) -> object:
    """Copy the data into a new folder."""
    await host.snapshot(_folder(fields))
    return await state(host, fields, number)


async def restore(host: Host, fields: Fields, number: int) -> object:
    """Go back to a copy."""
    await host.restore(_folder(fields))
    return await state(host, fields, number)


def _folder(fields: Fields) -> Path:
    """An absolute path: what the broker's working directory is, is nobody's business."""
    folder = Path(fields.text("directory"))
    if not folder.is_absolute():
        raise fields.wrong("directory", "an absolute path")
    return folder


async def create_topic(host: Host, fields: Fields, number: int) -> object:
    """Create a topic, and answer when it has leaders."""
    name = fields.text("name")
    partitions = fields.whole_number("partitions", 1) or 1
    replicas = fields.whole_number("replicas", 1)
    await host.create_topic(name, partitions, replicas, fields.settings("settings"))
    return {"name": name, "partitions": partitions}


async def topics(host: Host, fields: Fields, number: int) -> object:
    """The topics as the broker knows them, or one of them."""
    known, name = host.broker.metadata.topics, fields.optional_text("name")
    wanted = sorted(known) if name is None else [name] if name in known else []
    return {"topics": [_topic(known[each]) for each in wanted]}


def _topic(topic: TopicInfo) -> dict[str, object]:
    partitions = [
        {
            "partition": each.index,
            "leader": each.leader_id,
            "leader_epoch": each.leader_epoch,
            "replicas": list(each.replicas),
            "isr": list(each.isr),
        }
        for each in topic.partitions
    ]
    return {"name": topic.name, "partitions": partitions}


async def clear(host: Host, fields: Fields, number: int) -> object:
    """Delete all topics, groups and faults."""
    await host.clear()
    return {}


async def now(host: Host, fields: Fields, number: int) -> object:
    """The broker's time."""
    return {"now_ms": host.now_ms()}


async def advance(host: Host, fields: Fields, number: int) -> object:
    """Let time pass at once; the time after it."""
    duration = fields.raw("duration")
    if not isinstance(duration, str):
        duration = fields.milliseconds("duration", -1)
    try:
        await host.advance(duration)
    except ValueError as error:
        raise fields.bad(str(error)) from None
    return {"now_ms": host.now_ms()}


async def jump(host: Host, fields: Fields, number: int) -> object:
    """Set the date alone; the time after it."""
    duration = fields.raw("duration")
    if isinstance(duration, bool) or not isinstance(duration, str | int | float):
        raise fields.wrong("duration", "a duration such as -1 day, or a number of ms")
    try:
        host.broker.clock.jump(duration)
    except ValueError as error:
        raise fields.bad(str(error)) from None
    return {"now_ms": host.now_ms()}
