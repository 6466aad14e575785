"""Rows of a lake back into topics: partition, key, value, headers, time and order are kept.

    request = Request(Selection(("orders",)), {"orders": "orders.again"}, exactly_once=True)
    replay(spark, "/data/lake", KafkaCluster("127.0.0.1:9092"), request)

Each partition of a topic is one Spark task, whatever its size: order is kept by writing it from
one place. Spark moves the rows by partition and sorts each by offset, on disk where memory does
not do; nothing of them comes to the driver.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.replay.checkpoint import Checkpoint
from barnabas.pipeline.replay.plan import Plan, digest_of
from barnabas.pipeline.replay.planning import is_done_anew, kept_plan, new_plan
from barnabas.pipeline.replay.request import Request
from barnabas.pipeline.replay.run import Run, begin
from barnabas.pipeline.replay.targets import Targets
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.pipeline.spark.python_client import python_client_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLAYS = "_replays"  # in the lake, where no other checkpoint is named


@dataclass(frozen=True)
class Replayed:
    """What a replay came to; `written` is what this run wrote of it."""

    plan: Plan
    written: int
    was_finished: bool  # by an earlier run


def replay(
    spark: "SparkSession",
    lake_path: str | Path,
    cluster: KafkaCluster,
    request: Request,
    *,
    checkpoint: str | Path | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Replayed:
    """Replay, or go on with a replay that was ended before its end.

    The same request goes on where it had come to: `checkpoint` (default: a folder of the lake,
    named after the request) holds its plan. PipelineError says in one sentence what is in the
    way; `say` is told what is worth knowing and is not.
    """
    from barnabas.pipeline.lake.folders import folder_at
    from barnabas.pipeline.lake.lake import Lake

    settings = python_client_settings(cluster)
    targets = Targets(settings)
    cluster_id = targets.cluster_id()
    identity = request.identity(folder_at(spark, lake_path).uri)
    default = f"{lake_path}/{REPLAYS}/{digest_of({**identity, 'cluster': cluster_id})}"
    kept_at = Checkpoint(folder_at(spark, checkpoint or default))
    lake = Lake(spark, lake_path)
    kept = kept_plan(kept_at, identity, cluster_id)
    plan = None if kept is None or is_done_anew(kept, targets, say) else kept
    if plan is not None and plan.finished:
        return Replayed(plan, 0, was_finished=True)
    if plan is None:
        plan = new_plan(lake, request, identity, cluster_id, targets, kept, say)
        kept_at.add(plan)
    if not plan.begun:
        begin(plan, settings)
        plan = plan.as_begun()
        kept_at.update(plan)
    written = Run(spark, lake, request, plan, settings, targets).run()
    plan = plan.as_finished()
    kept_at.update(plan)
    return Replayed(plan, written, was_finished=False)
