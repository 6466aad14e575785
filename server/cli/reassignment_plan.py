"""Which brokers are to hold which replicas: plans, made here or read from a file.

Pure: what partitions have now goes in, what they are to have comes out.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from barnabas.server.cli.connection import check_topic_name
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.whole_numbers import whole_number

Replicas = Mapping[Place, Sequence[int]]
Racks = Mapping[int, str | None]
ANY_DIRECTORY: Final = "any"
MOST_BROKER: Final = 2**31 - 1


def spread(current: Replicas, racks: Racks, factor: int | None = None) -> dict[Place, list[int]]:
    """Replicas on these brokers and no others, `factor` of each partition or as many as it has.

    As few as that takes are moved. Brokers then hold, and lead, as evenly many as can be, but for
    racks: no partition is in fewer of them than it could be by what stays. Raises BadInput.
    """
    plan: dict[Place, list[int]] = {}
    for place, replicas in sorted(current.items()):
        wanted = factor or len(replicas)
        if wanted > len(racks):
            raise BadInput(f"{wanted} replicas of {named(place)} cannot be on {len(racks)} brokers")
        plan[place] = [each for each in replicas if each in racks][:wanted]
    held = Counter({broker: 0 for broker in racks})
    held.update(broker for replicas in plan.values() for broker in replicas)
    for place, replicas in plan.items():
        while len(replicas) < (factor or len(current[place])):
            _add_best(replicas, held, racks)
    _even_out(plan, held, racks)
    _even_out_leaders(plan, racks)
    return plan


def changes(current: Replicas, plan: Replicas) -> dict[Place, list[int]]:
    """What of a plan is not so already."""
    return {
        place: list(replicas)
        for place, replicas in plan.items()
        if list(current.get(place, ())) != list(replicas)
    }


def parse_plan(text: str, where: str) -> dict[Place, list[int]]:
    """The plan in a file of kafka-reassign-partitions. Raises BadInput."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where} is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("version") != 1:
        raise BadInput(f'{where} is no plan: it begins with {{"version": 1, "partitions": [')
    partitions = found.get("partitions")
    if not isinstance(partitions, list) or not partitions:
        raise BadInput(f"{where} names no partitions")
    plan: dict[Place, list[int]] = {}
    for each in partitions:
        place, replicas = _entry(each, where)
        if place in plan:
            raise BadInput(f"{where} names {named(place)} twice")
        plan[place] = replicas
    return plan


def parse_brokers(text: str) -> list[int]:
    """Ids of brokers, separated by commas. Raises BadInput."""
    numbers = [whole_number(part.strip()) for part in text.split(",")]
    brokers = [number for number in numbers if number is not None and number <= MOST_BROKER]
    if len(brokers) < len(numbers):
        raise BadInput(f"--brokers: {text!r} is not a list of broker ids, as 1,2,3")
    if len(set(brokers)) < len(brokers):
        raise BadInput(f"--brokers: {text!r} names a broker twice")
    return brokers


def named(place: Place) -> str:
    """A partition as people write it."""
    return f"{place[0]}-{place[1]}"


def _add_best(replicas: list[int], held: Counter[int], racks: Racks) -> None:
    """One more replica: in a new rack if there is one, where the fewest are."""
    used = {racks[each] for each in replicas}
    best = min(
        (each for each in racks if each not in replicas),
        key=lambda each: (racks[each] in used, held[each], each),
    )
    replicas.append(best)
    held[best] += 1


def _even_out(plan: Mapping[Place, list[int]], held: Counter[int], racks: Racks) -> None:
    """Move from who holds most to who holds least, as long as that evens anything out."""
    while (move := _next_move(plan, held, racks)) is not None:
        replicas, full, free = move
        replicas[replicas.index(full)] = free
        held[full] -= 1
        held[free] += 1


def _next_move(
    plan: Mapping[Place, list[int]], held: Counter[int], racks: Racks
) -> tuple[list[int], int, int] | None:
    by_load = sorted(held, key=lambda each: (held[each], each))
    for full in reversed(by_load):
        for free in by_load:
            if held[full] - held[free] < 2:
                break
            for replicas in plan.values():
                if full in replicas and free not in replicas and _fits(replicas, full, free, racks):
                    return replicas, full, free
    return None


def _fits(replicas: Sequence[int], full: int, free: int, racks: Racks) -> bool:
    """Whether the partition is in as many racks as before."""
    after = {racks[free if each == full else each] for each in replicas}
    return len(after) >= len({racks[each] for each in replicas})


def _even_out_leaders(plan: Mapping[Place, list[int]], racks: Racks) -> None:
    """Let another replica be the first, which is the preferred leader."""
    led = Counter({broker: 0 for broker in racks})
    led.update(replicas[0] for replicas in plan.values())
    is_done = False
    while not is_done:
        is_done = True
        for replicas in plan.values():
            best = min(replicas, key=lambda each: (led[each], replicas.index(each)))
            if led[replicas[0]] - led[best] >= 2:
                led[replicas[0]] -= 1
                led[best] += 1
                at = replicas.index(best)
                replicas[0], replicas[at] = replicas[at], replicas[0]
                is_done = False


def _entry(found: object, where: str) -> tuple[Place, list[int]]:
    if not isinstance(found, dict):
        raise BadInput(f"{where}: {found!r} is no partition")
    topic, partition, replicas = (found.get(key) for key in ("topic", "partition", "replicas"))
    if not isinstance(topic, str) or not _is_number(partition):
        raise BadInput(f'{where}: {found!r} needs a "topic" and a "partition"')
    check_topic_name(topic)
    place = (topic, int(str(partition)))
    if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
        raise BadInput(f'{where}: {named(place)} needs "replicas", a list of broker ids')
    if len(set(replicas)) < len(replicas):
        raise BadInput(f"{where}: {named(place)} names a broker twice: {replicas}")
    directories = found.get("log_dirs") or []
    if not isinstance(directories, list) or any(each != ANY_DIRECTORY for each in directories):
        raise BadInput(f'{where}: {named(place)} names log_dirs; only "any" is moved to by this')
    return place, [int(each) for each in replicas]


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_BROKER
