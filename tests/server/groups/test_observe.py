"""The coordinator's figures as they are scraped."""

from barnabas.server.groups.observe import observe_groups
from barnabas.server.observing.exposition import exporter
from barnabas.server.observing.metrics import Metrics
from tests.wire.steps import finished

from .world import Client, World, stable


def test_groups_offsets_and_states_are_counted(world: World) -> None:
    metrics = Metrics()
    observe_groups(world.groups, metrics)
    client = Client(world)
    stable(world, client)
    world.commit(1, client.committer)
    world.commit(1, group="simple")
    world.commit(2, group="simple", partition=1)
    world.commit(1, group="deleted")
    world.groups.delete_group("deleted")
    text = finished(exporter(metrics)()).value[0].decode()
    shown = dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    manager, coordinator = (
        "kafka_coordinator_group_groupmetadatamanager",
        "kafka_server_group_coordinator_metrics",
    )
    assert {name: float(value) for name, value in shown.items() if "group" in name} == {
        f"{manager}_numgroups": 2,
        f"{manager}_numoffsets": 3,
        f"{manager}_numgroupsstable": 1,
        f"{manager}_numgroupsempty": 1,
        f"{manager}_numgroupsdead": 0,
        f"{manager}_numgroupspreparingrebalance": 0,
        f"{manager}_numgroupscompletingrebalance": 0,
        f"{coordinator}_offset_commit_count_total": 4,
        f"{coordinator}_offset_expiration_count_total": 0,
        f"{coordinator}_offset_deletion_count_total": 1,
        f"{coordinator}_group_completed_rebalance_count_total": 1,
    }
