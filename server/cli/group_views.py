"""What a group looks like: its state, its members, and how far behind each partition is."""

from typing import Any

from barnabas.server.cli.connection import Cluster
from barnabas.server.cli.failures import Failure, did_you_mean
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.offsets import LATEST, Place, named_places, offsets_once_led
from barnabas.server.cli.output import Row
from barnabas.server.cli.whole_numbers import whole_number

UNKNOWN_OFFSET = -1


def listed(cluster: Cluster) -> dict[str, Row]:
    """Every group of the cluster by its name."""
    return {
        group["group_id"]: {
            "group": group["group_id"],
            "type": group.get("group_type") or "classic",
            "protocol": group["protocol_type"],
            "state": group.get("group_state") or None,
        }
        for group in cluster.admin.list_groups()
    }


def check_exists(cluster: Cluster, group: str) -> Row:
    """The group, or a Failure that suggests what there is."""
    known = listed(cluster)
    if group not in known:
        hint = did_you_mean(group, list(known)) or "; `barnabas groups list` shows them all"
        raise Failure(f"there is no group {group}{hint}")
    return known[group]


def committed_offsets(cluster: Cluster, group: str) -> dict[Place, int]:
    """What the group has committed, by partition."""
    return committed_of_all(cluster, [group])[group]


def committed_of_all(cluster: Cluster, groups: list[str]) -> dict[str, dict[Place, int]]:
    """What each group has committed, by partition; one request a coordinator."""
    found = cluster.admin.list_group_offsets(dict.fromkeys(groups))
    return {
        group: {
            (where.topic, where.partition): at.offset
            for where, at in offsets.items()
            if at.offset != UNKNOWN_OFFSET
        }
        for group, offsets in found.items()
    }


def members_of(cluster: Cluster, group: str) -> dict[Place | None, dict[str, Any]]:
    """The member that has each partition; None stands for the last one without any."""
    described = cluster.admin.describe_groups([group]).get(group) or {}
    owners: dict[Place | None, dict[str, Any]] = {}
    for member in described.get("members") or []:
        places = _assigned(member.get("member_assignment"))
        owners.update(dict.fromkeys(places, member))
        if not places:
            owners[None] = member
    return owners


def _assigned(assignment: Any) -> list[Place]:
    if not isinstance(assignment, dict):
        return []
    return [
        (topic["topic"], partition)
        for topic in assignment["assigned_partitions"]
        for partition in topic["partitions"]
    ]


def summary_of(cluster: Cluster, group: str, rows: list[Row]) -> Row:
    """The whole of a group in one row; `rows` are its partitions, of `rows_of`."""
    described = cluster.admin.describe_groups([group]).get(group) or {}
    coordinator = cluster.admin._manager.run(cluster.admin._find_coordinator_id, group)
    known = check_exists(cluster, group)
    return {
        **known,
        "assignor": described.get("protocol_data") or described.get("assignor_name") or None,
        "coordinator": broker_of(coordinator),
        "members": len(described.get("members") or ()),
        "topics": len({row["topic"] for row in rows if row["topic"]}),
        "lag": sum(row["lag"] or 0 for row in rows),
    }


def broker_of(coordinator: object) -> int | None:
    """kafka-python gives a coordinator a node id of its own: the broker's is at its end."""
    return whole_number(str(coordinator).rpartition("-")[2])


def member_rows(cluster: Cluster, group: str) -> list[Row]:
    """One row a member, with the partitions that it has."""
    check_exists(cluster, group)
    described = cluster.admin.describe_groups([group]).get(group) or {}
    rows = []
    for member in described.get("members") or ():
        places = sorted(_assigned(member.get("member_assignment")))
        rows.append(
            {
                "group": group,
                "member": member["member_id"],
                "client": member["client_id"],
                "host": member["client_host"],
                "instance": member.get("group_instance_id") or None,
                "partitions": [f"{topic}:{number}" for topic, number in places],
            }
        )
    return sorted(rows, key=lambda row: str(row["member"]))


def delete_offsets(cluster: Cluster, group: str, places: list[Place]) -> dict[Place, str]:
    """Forget what the group has committed for partitions; what was refused, and why."""
    partition = kafka().TopicPartition
    answer = cluster.admin.delete_group_offsets(group, [partition(*place) for place in places])
    return {
        (where.topic, where.partition): getattr(error, "description", error.__name__)
        for where, error in answer.items()
        if error.errno
    }


def still_there(cluster: Cluster, places: list[Place]) -> list[Place]:
    """Those of the partitions that exist; a group outlives the topics that it read."""
    names = sorted({topic for topic, _ in places})
    known = cluster.topics(names) if names else {}
    exist = {
        (name, partition["partition_index"])
        for name, topic in known.items()
        for partition in topic["partitions"]
        if partition["leader_id"] >= 0
    }
    return [place for place in places if place in exist]


def rows_of(cluster: Cluster, group: str) -> list[Row]:
    """One row per partition that the group has committed to or that a member has."""
    summary = check_exists(cluster, group)
    committed, owners = committed_offsets(cluster, group), members_of(cluster, group)
    places = sorted({*committed, *(place for place in owners if place is not None)})
    ends = offsets_once_led(cluster, still_there(cluster, places), LATEST)
    rows = [_row(summary, place, committed, ends, owners.get(place)) for place in places]
    if None in owners:
        rows.append(_row(summary, None, committed, ends, owners[None]))
    return rows or [_row(summary, None, committed, ends, None)]


def _row(
    summary: Row, place: Place | None, committed: dict[Place, int], ends: dict[Place, int],
    member: dict[str, Any] | None,
) -> Row:  # fmt: skip
    offset, end = (committed.get(place), ends.get(place)) if place else (None, None)
    return {
        "group": summary["group"],
        "state": summary["state"],
        "topic": place[0] if place else None,
        "partition": place[1] if place else None,
        "committed": offset,
        "end_offset": end,
        "lag": end - offset if end is not None and offset is not None else None,
        "member": member["member_id"] if member else None,
        "client": member["client_id"] if member else None,
        "host": member["client_host"] if member else None,
    }


def chosen_places(cluster: Cluster, group: str, topics: tuple[str, ...]) -> list[Place]:
    """The partitions that TOPIC or TOPIC:0,1 name; without them all that the group committed."""
    if not topics:
        return still_there(cluster, sorted(committed_offsets(cluster, group)))
    return named_places(cluster, topics)


def commit(cluster: Cluster, group: str, offsets: dict[Place, int]) -> dict[Place, str]:
    """Commit offsets for a group without members; what was refused, and why."""
    structs = kafka("structs")
    wanted = {
        structs.TopicPartition(*place): structs.OffsetAndMetadata(offset, "", -1)
        for place, offset in offsets.items()
    }
    answer = cluster.admin.alter_group_offsets(group, wanted)
    return {
        (where.topic, where.partition): getattr(error, "description", error.__name__)
        for where, error in answer.items()
        if error.errno
    }
