"""The plan of a replay: the one of an earlier run, or a new one if nothing is in its way."""

import secrets
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.replay.checkpoint import Checkpoint
from barnabas.pipeline.replay.contents import contents_of, partition_counts, require_replayable
from barnabas.pipeline.replay.plan import Part, Plan, differences, digest_of
from barnabas.pipeline.replay.request import Request
from barnabas.pipeline.replay.targets import Target, Targets, require_fit, retention_warning
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from barnabas.pipeline.lake.lake import Lake


def kept_plan(kept_at: Checkpoint, identity: dict[str, Any], cluster_id: str) -> Plan | None:
    """The plan of a checkpoint; PipelineError when it is that of something else."""
    if (plan := kept_at.read()) is None:
        return None
    if different := differences(identity, plan.request):
        raise PipelineError(
            f"the checkpoint is that of another replay ({' and '.join(different)} differ); "
            "--checkpoint names another folder"
        )
    if plan.cluster_id != cluster_id:
        raise PipelineError(
            f"the checkpoint is that of a replay to cluster {plan.cluster_id}, and this is "
            f"{cluster_id}; --checkpoint names another folder"
        )
    return plan


def is_done_anew(plan: Plan, targets: Targets, say: Callable[[str], None]) -> bool:
    """Whether a plan is at its end and targets of it are not those any more that it filled."""
    new = made_again(plan, targets)
    if new and not plan.finished:
        raise PipelineError(
            f"{', '.join(new)} was made again since the replay to it began; --checkpoint names "
            "another folder to begin anew"
        )
    if new:
        say(f"{', '.join(new)} has gone or was made again since: it is replayed to anew")
    return bool(new)


def made_again(plan: Plan, targets: Targets) -> list[str]:
    """The targets of a plan that are no longer those that it was made for."""
    ids = {part.target: part.target_id for part in plan.parts}
    there = targets.existing(list(ids)) if plan.finished else targets.all_of(list(ids))
    return [name for name in ids if name not in there or there[name].topic_id != ids[name]]


def new_plan(
    lake: "Lake",
    request: Request,
    identity: dict[str, Any],
    cluster_id: str,
    targets: Targets,
    earlier: Plan | None,
    say: Callable[[str], None],
) -> Plan:
    """What is to be done; `earlier` is what was done to topics of the same names."""
    selection = request.selection
    counts = partition_counts(lake.landings(), selection, identity["lake"])
    contents = contents_of(selection.of(lake.rows(selection.topics)))
    require_replayable(contents, selection, with_timestamps=request.with_timestamps)
    found = _fit_targets(request, counts, targets, earlier)
    for topic, target in found.items():
        oldest_ms = min((c.oldest_ms for c in contents if c.topic == topic), default=None)
        now_ms = time.time_ns() // 1_000_000
        if request.with_timestamps and oldest_ms is not None:
            if warning := retention_warning(target, oldest_ms, now_ms):
                say(warning)
    parts = tuple(
        Part(
            c.topic, c.topic_id, c.partition, found[c.topic].name, found[c.topic].topic_id,
            c.rows, c.first, c.last, found[c.topic].ends[c.partition],
        )
        for c in contents
    )  # fmt: skip
    replay_id = f"{digest_of(identity)}-{secrets.token_hex(4)}"
    return Plan(replay_id, identity["mode"], cluster_id, identity, parts)


def _fit_targets(
    request: Request, counts: Mapping[str, int], targets: Targets, earlier: Plan | None
) -> dict[str, Target]:
    """By source topic its target, made where it is to be and refused where it does not fit."""
    names = list(request.targets.values())
    there = targets.existing(names)
    for topic, name in request.targets.items():
        if name in there:
            require_fit(
                there[name], topic, counts[topic],
                with_timestamps=request.with_timestamps, append=request.append,
            )  # fmt: skip
        elif not request.create:
            raise PipelineError(f"there is no topic {name} to replay to; --create creates it")
    for topic, name in request.targets.items():
        if name not in there:
            targets.create(name, counts[topic], request.config)
    there = targets.all_of(names)
    if earlier is not None:
        if known := [name for name in names if name not in made_again(earlier, targets)]:
            raise PipelineError(
                f"{', '.join(known)} was replayed to already; --checkpoint names another folder "
                "to do it again"
            )
    return {topic: there[name] for topic, name in request.targets.items()}
