"""Paths, against those Kafka used."""

import re

from barnabas.server.registry import paths
from tests.server.registry import golden

KNOWN = [
    *map(re.escape, paths.PERSISTENT_PATHS),
    *(re.escape(path) for path in (paths.CONTROLLER, paths.CONTROLLER_EPOCH, paths.FEATURE)),
    re.escape(paths.CLUSTER_ID),
    re.escape(paths.broker(7)).replace("7", r"\d+"),
    re.escape(paths.topic("T")).replace("T", r"[^/]+"),
    re.escape(paths.partitions("T")).replace("T", r"[^/]+"),
    re.escape(paths.partition("T", 7)).replace("T", r"[^/]+").replace("7", r"\d+"),
    re.escape(paths.partition_state("T", 7)).replace("T", r"[^/]+").replace("7", r"\d+"),
    re.escape(paths.entity_config("E")).replace("E", r"(topics|brokers|clients|ips)/[^/]+"),
    re.escape(paths.entity_config("E")).replace("E", r"users/[^/]+(/clients/[^/]+)?"),
    re.escape(paths.sequential(paths.CONFIG_CHANGES, paths.CONFIG_CHANGE_PREFIX)) + r"\d{10}",
    re.escape(paths.consumer_offset("G", "T", 7)).replace("G", ".+").replace("7", r"\d+"),
    re.escape(paths.REASSIGN_PARTITIONS),
    re.escape(paths.PREFERRED_REPLICA_ELECTION),
]
LATER = ("/kafka-acl", "/delegation_token")


def test_every_znode_with_a_meaning_has_its_path_here() -> None:
    known = re.compile("|".join(KNOWN)).fullmatch
    parents = {path.rpartition("/")[0] for path in paths.PERSISTENT_PATHS} | {"/", "/cluster"}
    for protocol in golden.PROTOCOLS:
        for step in golden.steps(protocol):
            for path in step["added"]:
                if path in parents or path.startswith((*LATER, paths.CONSUMERS)):
                    continue
                assert known(path) or path.endswith("/clients"), path


def test_path_nodes_are_made_in_kafkas_order() -> None:
    made = [
        row["path"]
        for row in golden.requests((3, 9))
        if row["op"] == "create" and row["step"] == "first-broker" and "error" not in row
    ]
    assert [path for path in made if path in paths.PERSISTENT_PATHS] == list(paths.PERSISTENT_PATHS)


def test_old_consumers() -> None:
    assert paths.consumer_offset("g", "t", 0) == "/consumers/g/offsets/t/0"
    assert paths.consumer_ids("g") == "/consumers/g/ids"
    assert paths.consumer_owners("g", "t") == "/consumers/g/owners/t"
    assert paths.deleted_topic("t") == "/admin/delete_topics/t"
    assert paths.entity_configs("ips") == "/config/ips"
