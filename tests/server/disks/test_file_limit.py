"""A broker that may open few files: it says so, and serves what it is asked all the same."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.server.disks import file_limit
from barnabas.server.settings.config import load_config
from barnabas.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce

PARTITIONS = 150


@contextmanager
def started(folder: Path, soft: int, hard: int) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A broker's process with this limit of open files, and its port."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    arguments = ["start", "--listen", "127.0.0.1:0", "--data-dir", str(folder)]
    with subprocess.Popen(
        [sys.executable, "-m", "barnabas", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline().split()[2].rpartition(":")[2])
        finally:
            process.terminate()
            process.wait(60)


def create(client: RawClient, name: str, **configs: str) -> None:
    settings = [CreatableTopicConfig(name=key, value=value) for key, value in configs.items()]
    topic = CreatableTopic(
        name=name, num_partitions=PARTITIONS, replication_factor=1, configs=settings
    )
    answer = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 2)
    assert [each.error_code for each in answer.topics] == [0]


def test_every_partition_is_written_and_flushed_with_few_descriptors(tmp_path: Path) -> None:
    with started(tmp_path, 100, 100) as (process, port):
        with RawClient(port) as client:
            create(client, "t", **{"flush.messages": "1"})
            for round_ in range(2):
                codes = [
                    produce(client, "t", make_batch(b"%d" % round_), partition=index).error_code
                    for index in range(PARTITIONS)
                ]
                assert codes == [0] * PARTITIONS
        process.terminate()
        assert process.wait(60) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    assert "the limit of open files is 100 (RLIMIT_NOFILE, `ulimit -n`), below the" in said
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_the_limit_is_raised_as_far_as_may_be(tmp_path: Path) -> None:
    with started(tmp_path, 200, 3000) as (process, _):
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        (line,) = [each for each in limits.splitlines() if each.startswith("Max open files")]
        assert line.split()[3:5] == ["3000", "3000"]


@pytest.mark.parametrize(("limit", "partitions"), [(100, 1), (700, 100), (1023, 5000)])
def test_a_limit_that_is_too_low_is_named(limit: int, partitions: int) -> None:
    said = file_limit.shortage(limit, load_config([], []), partitions)
    assert said is not None and f"is {limit} (RLIMIT_NOFILE" in said
    assert f"{partitions} partitions" in said and said.count(". ") == 0


@pytest.mark.parametrize(("limit", "partitions"), [(1024, 100), (1200, 5000)])
def test_one_that_will_do_is_not(limit: int, partitions: int) -> None:
    assert file_limit.shortage(limit, load_config([], []), partitions) is None


def test_half_of_a_low_limit_is_left_to_others() -> None:
    assert file_limit.most_kept_open(100) == file_limit.FEWEST_KEPT_OPEN
    assert file_limit.most_kept_open(512) == 192
    assert file_limit.most_kept_open(1 << 20) == 512
