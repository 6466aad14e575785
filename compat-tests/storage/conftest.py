"""Runs of Apache Kafka that several files of tests look at, each made once."""

from pathlib import Path

import pytest
from kafka_runs import KafkaRun


@pytest.fixture(scope="session")
def _runs() -> dict[str, KafkaRun | BaseException]:
    return {}


@pytest.fixture
def kafka_run(
    version: str,
    _runs: dict[str, KafkaRun | BaseException],
    tmp_path_factory: pytest.TempPathFactory,
) -> KafkaRun:
    """The run of the release that the test names as `version`; one that failed fails them all."""
    if version not in _runs:
        try:
            folder = Path(tmp_path_factory.mktemp(f"kafka-{version}"))
            _runs[version] = KafkaRun(version, folder)
        except BaseException as error:
            _runs[version] = error
            raise
    run = _runs[version]
    if isinstance(run, BaseException):
        raise RuntimeError(f"the run of Apache Kafka {version} has failed before") from run
    return run
